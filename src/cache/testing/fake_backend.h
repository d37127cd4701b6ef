// SPDX-License-Identifier: Apache-2.0
// A host-memory backend for tests: counts what it hands out and fails when told to.
#pragma once

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "device/backend.h"

namespace o3::cache {

class FakeBackend final : public device::Backend {
 public:
  explicit FakeBackend(size_t limit_bytes = SIZE_MAX) : limit_(limit_bytes) {}

  device::BackendKind kind() const noexcept override { return device::BackendKind::kCpu; }
  std::string description() const override { return "fake"; }
  Result<device::Buffer> allocate(size_t bytes, device::MemTag tag) override {
    if (bytes > limit_) return Error{Code::kExhausted, "the fake backend's limit", {}};
    ++allocations;
    allocated_[static_cast<size_t>(tag)] += bytes;
    auto* data = reinterpret_cast<std::byte*>(std::allocator<Line>().allocate(lines(bytes)));
    return device::Buffer(*this, data, bytes, tag);
  }
  Result<void> copy_from_host(device::Buffer& to, size_t offset, const void* from,
                              size_t bytes) override {
    std::memcpy(to.data() + offset, from, bytes);
    return {};
  }
  Result<void> synchronize() override { return {}; }
  bool healthy() const noexcept override { return health.load(); }

  int allocations = 0;
  std::atomic<bool> health{true};

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  static size_t lines(size_t bytes) { return (bytes + sizeof(Line) - 1) / sizeof(Line); }
  void free(std::byte* data, size_t bytes) noexcept override {
    std::allocator<Line>().deallocate(reinterpret_cast<Line*>(data), lines(bytes));
  }
  size_t limit_;
};

}  // namespace o3::cache
