// SPDX-License-Identifier: Apache-2.0
// One Backend per device: who allocates, copies and waits. CPU here; CUDA is added beside it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"

namespace o3::device {

// Every byte has an owner (spec F8).
enum class MemTag : uint8_t { kWeights, kKv, kWorkspace, kIo };
inline constexpr size_t kMemTags = 4;

enum class BackendKind : uint8_t { kCpu, kCuda };

class Backend;

// Move-only owner of device memory; gives it back to its backend, which must outlive it.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Backend& owner, std::byte* data, size_t bytes, MemTag tag) noexcept
      : owner_(&owner), data_(data), bytes_(bytes), tag_(tag) {}
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { reset(); }

  std::byte* data() const noexcept { return data_; }
  size_t bytes() const noexcept { return bytes_; }
  MemTag tag() const noexcept { return tag_; }
  void reset() noexcept;

 private:
  Backend* owner_ = nullptr;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  MemTag tag_ = MemTag::kWorkspace;
};

// Thread-safe: any thread may allocate and free; kernels run on the engine's executor only.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual BackendKind kind() const noexcept = 0;
  virtual std::string description() const = 0;  // for people: "cpu avx512_vnni, 2 threads"

  // 64-byte aligned on the CPU, 256 on CUDA. kExhausted when the memory is not there.
  virtual Result<Buffer> allocate(size_t bytes, MemTag tag) = 0;
  virtual Result<void> copy_from_host(Buffer& to, size_t offset, const void* from,
                                      size_t bytes) = 0;
  virtual Result<void> synchronize() = 0;
  virtual bool healthy() const noexcept = 0;
  // Free memory of a device that has its own; nothing where it is the host's.
  virtual std::optional<int64_t> free_bytes() const { return std::nullopt; }

  size_t allocated(MemTag tag) const noexcept {
    return allocated_[static_cast<size_t>(tag)].load(std::memory_order_relaxed);
  }

 protected:
  friend class Buffer;
  virtual void free(std::byte* data, size_t bytes) noexcept = 0;
  std::array<std::atomic<size_t>, kMemTags> allocated_{};
};

}  // namespace o3::device
