// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

namespace o3::api::http {

// Bounds the bytes of request bodies held by all connections together. Any thread.
class BodyBudget {
 public:
  explicit BodyBudget(size_t most) : most_(most) {}

  bool take(size_t bytes) noexcept {
    size_t held = held_.load(std::memory_order_relaxed);
    while (bytes <= most_ - held) {
      if (held_.compare_exchange_weak(held, held + bytes)) return true;
    }
    return false;
  }
  void give_back(size_t bytes) noexcept { held_.fetch_sub(bytes); }
  size_t held() const noexcept { return held_.load(); }

 private:
  const size_t most_;
  std::atomic<size_t> held_{0};  // <= most_
};

// One request's share.
class BodyLease {
 public:
  explicit BodyLease(BodyBudget& budget) : budget_(&budget) {}
  BodyLease(BodyLease&& other) noexcept
      : budget_(other.budget_), bytes_(std::exchange(other.bytes_, 0)) {}
  BodyLease& operator=(BodyLease&&) = delete;
  BodyLease(const BodyLease&) = delete;
  BodyLease& operator=(const BodyLease&) = delete;
  ~BodyLease() { release(); }

  // Grows the share to `bytes`; false: the budget is used up.
  bool grow_to(size_t bytes) noexcept {
    if (bytes <= bytes_) return true;
    if (!budget_->take(bytes - bytes_)) return false;
    bytes_ = bytes;
    return true;
  }
  void release() noexcept { budget_->give_back(std::exchange(bytes_, 0)); }

 private:
  BodyBudget* budget_;
  size_t bytes_ = 0;
};

}  // namespace o3::api::http
