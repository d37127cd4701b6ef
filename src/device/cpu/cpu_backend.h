// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>

#include "device/backend.h"
#include "device/cpu/isa.h"
#include "device/cpu/thread_pool.h"

namespace o3::device::cpu {

struct CpuOptions {
  int threads = 0;                // <= 0: see ThreadPool
  Isa isa = Isa::kGeneric;        // must be available; callers pass best_isa() or a forced one
  size_t memory_limit_bytes = 0;  // 0: no limit of ours
};

class CpuBackend final : public Backend {
 public:
  static Result<std::unique_ptr<CpuBackend>> create(const CpuOptions& options);

  BackendKind kind() const noexcept override { return BackendKind::kCpu; }
  std::string description() const override;
  Result<Buffer> allocate(size_t bytes, MemTag tag) override;
  Result<void> copy_from_host(Buffer& to, size_t offset, const void* from, size_t bytes) override;
  Result<void> synchronize() override { return {}; }
  bool healthy() const noexcept override { return true; }

  Isa isa() const noexcept { return options_.isa; }
  ThreadPool& threads() noexcept { return threads_; }

 private:
  explicit CpuBackend(const CpuOptions& options);
  void free(std::byte* data, size_t bytes) noexcept override;

  CpuOptions options_;
  std::atomic<size_t> in_use_{0};  // bytes over all tags, for the limit
  ThreadPool threads_;
};

}  // namespace o3::device::cpu
