// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/cpu_backend.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/bytes.h"

namespace o3::device::cpu {
namespace {

constexpr size_t kAlignment = 64;                      // a cache line; one AVX-512 register
constexpr size_t kHugePage = size_t{2} * 1024 * 1024;  // worth asking for from one page on
constexpr size_t kMaxBytes = size_t{1} << 47U;         // user address space
constexpr int kMaxThreads = 1024;

}  // namespace

CpuBackend::CpuBackend(const CpuOptions& options) : options_(options), threads_(options.threads) {}

Result<std::unique_ptr<CpuBackend>> CpuBackend::create(const CpuOptions& options) {
  const std::vector<Isa> available = available_isas();
  if (std::find(available.begin(), available.end(), options.isa) == available.end()) {
    return unsupported("this machine cannot run isa \"" + std::string(isa_name(options.isa)) +
                           "\"; the strongest it offers is \"" +
                           std::string(isa_name(available.back())) + "\"",
                       "isa");
  }
  if (options.threads > kMaxThreads) {
    return invalid("threads must be at most " + std::to_string(kMaxThreads), "threads");
  }
  return std::unique_ptr<CpuBackend>(new CpuBackend(options));  // NOLINT: private constructor
}

std::string CpuBackend::description() const {
  const int n = threads_.size();
  return "cpu " + std::string(isa_name(options_.isa)) + ", " + std::to_string(n) +
         (n == 1 ? " thread" : " threads");
}

Result<Buffer> CpuBackend::allocate(size_t bytes, MemTag tag) {
  if (bytes == 0) return Buffer(*this, nullptr, 0, tag);
  const auto exhausted = [&](const std::string& why) {
    return Error{Code::kExhausted,
                 "cannot allocate " + std::to_string(bytes) + " bytes of host memory: " + why,
                 {}};
  };
  if (bytes > kMaxBytes) return exhausted("more than the address space");
  const size_t limit = options_.memory_limit_bytes;
  const size_t before = in_use_.fetch_add(bytes, std::memory_order_relaxed);
  if (limit != 0 && before + bytes > limit) {
    in_use_.fetch_sub(bytes, std::memory_order_relaxed);
    return exhausted("the limit is " + std::to_string(limit) + " bytes, " + std::to_string(before) +
                     " are in use");
  }
  const bool huge = bytes >= kHugePage;
  const size_t alignment = huge ? kHugePage : kAlignment;
  const auto size =
      static_cast<size_t>(round_up(static_cast<int64_t>(bytes), static_cast<int64_t>(kAlignment)));
  void* data = nullptr;
  if (posix_memalign(&data, alignment, size) != 0) {
    in_use_.fetch_sub(bytes, std::memory_order_relaxed);
    return exhausted("the system has no more");
  }
  // Large pages spare the address-translation misses of streaming weights; refusal is no error.
  if (huge) static_cast<void>(madvise(data, size, MADV_HUGEPAGE));
  allocated_[static_cast<size_t>(tag)].fetch_add(bytes, std::memory_order_relaxed);
  return Buffer(*this, static_cast<std::byte*>(data), bytes, tag);
}

void CpuBackend::free(std::byte* data, size_t bytes) noexcept {
  std::free(data);
  in_use_.fetch_sub(bytes, std::memory_order_relaxed);
}

Result<void> CpuBackend::copy_from_host(Buffer& to, size_t offset, const void* from, size_t bytes) {
  if (offset > to.bytes() || bytes > to.bytes() - offset) {
    return invalid("copy of " + std::to_string(bytes) + " bytes to offset " +
                   std::to_string(offset) + " of a buffer of " + std::to_string(to.bytes()));
  }
  if (bytes != 0) std::memcpy(to.data() + offset, from, bytes);
  return {};
}

}  // namespace o3::device::cpu
