// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace o3::api::http {

// One of the connections that a server may hold, from the moment it is accepted: those that wait
// for their io thread have a descriptor already.
class ConnectionSlot {
 public:
  explicit ConnectionSlot(std::atomic<int64_t>& count) : count_(&count) { count.fetch_add(1); }
  ConnectionSlot(ConnectionSlot&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
  ConnectionSlot& operator=(ConnectionSlot&&) = delete;
  ConnectionSlot(const ConnectionSlot&) = delete;
  ConnectionSlot& operator=(const ConnectionSlot&) = delete;
  ~ConnectionSlot() {
    if (count_ != nullptr) count_->fetch_sub(1);
  }

 private:
  std::atomic<int64_t>* count_;
};

}  // namespace o3::api::http
