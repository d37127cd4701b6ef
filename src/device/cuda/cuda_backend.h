// SPDX-License-Identifier: Apache-2.0
// One NVIDIA GPU. No CUDA type shows, so that everything but this folder's sources is compiled as
// in a build without CUDA.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "device/backend.h"
#include "device/cuda/stream.h"

namespace o3::device::cuda {

struct CudaOptions {
  int ordinal = 0;  // as the driver counts them
};

struct DeviceMemory {
  int64_t free_bytes = 0;
  int64_t total_bytes = 0;
};

// Work goes to one stream, in order; copy_from_host() and synchronize() wait for it. An error of
// the device is found by whoever waits next, and makes the backend unhealthy for good: CUDA offers
// no way back but a new process.
class CudaBackend final : public Backend {
 public:
  // kUnsupported: no such device, or one without this build's kernels (compute capability 9.0).
  static Result<std::unique_ptr<CudaBackend>> create(const CudaOptions& options);
  ~CudaBackend() override;

  BackendKind kind() const noexcept override { return BackendKind::kCuda; }
  std::string description() const override;
  Result<Buffer> allocate(size_t bytes, MemTag tag) override;
  // Host memory that the device reads and writes at the bus's full speed, counted as kIo. Its
  // buffer may be dereferenced by the CPU.
  Result<Buffer> allocate_pinned(size_t bytes);
  Result<void> copy_from_host(Buffer& to, size_t offset, const void* from, size_t bytes) override;
  Result<void> copy_to_host(void* to, const void* from, size_t bytes);
  Result<void> synchronize() override;
  std::optional<int64_t> free_bytes() const override;
  bool healthy() const noexcept override { return healthy_.load(std::memory_order_relaxed); }

  // Makes the calling thread's CUDA calls mean this device; each thread that enqueues calls it
  // once.
  Result<void> use_on_this_thread();

  const Stream& stream() const noexcept { return stream_; }
  // Enqueue only. `from` and `to` are pinned or device memory.
  Result<void> enqueue_copy(void* to, const void* from, size_t bytes);
  Result<void> enqueue_zero(void* to, size_t bytes);
  // Whether every launch since the last call was accepted; once per step.
  Result<void> check_launches();
  Result<DeviceMemory> memory() const;

  // `code` is a cudaError_t; anything but success is an error of the backend.
  Result<void> check(int code, const char* what) const;

 private:
  // The owner of pinned memory, so that Buffer gives it back the right way.
  class Pinned;

  CudaBackend(int ordinal, std::string name);
  void free(std::byte* data, size_t bytes) noexcept override;

  int ordinal_;
  std::string name_;
  Stream stream_;
  std::unique_ptr<Pinned> pinned_;
  mutable std::atomic<bool> healthy_{true};
};

}  // namespace o3::device::cuda
