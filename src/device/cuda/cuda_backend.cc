// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_backend.h"

#include <cuda_runtime_api.h>

#include <utility>

#include "device/cuda/create.h"

namespace o3::device::cuda {
namespace {

constexpr int kMajor = 9;  // sm_90a code runs on compute capability 9.0 alone
constexpr int kMinor = 0;

cudaStream_t handle(const Stream& stream) {
  return static_cast<cudaStream_t>(stream.handle);
}

Error failed(const std::string& what, cudaError_t code) {
  return Error{Code::kUnavailable, what + ": " + cudaGetErrorString(code), {}};
}

}  // namespace

class CudaBackend::Pinned final : public Backend {
 public:
  explicit Pinned(CudaBackend& owner) : owner_(owner) {}
  BackendKind kind() const noexcept override { return BackendKind::kCpu; }
  std::string description() const override { return "pinned host memory"; }
  Result<Buffer> allocate(size_t bytes, MemTag tag) override {
    void* data = nullptr;
    const cudaError_t code = cudaHostAlloc(&data, bytes, cudaHostAllocDefault);
    if (code != cudaSuccess) {
      return Error{Code::kExhausted,
                   "cannot allocate " + std::to_string(bytes) +
                       " bytes of pinned host memory: " + cudaGetErrorString(code),
                   {}};
    }
    // Counted where people look: with the device's memory.
    owner_.allocated_[static_cast<size_t>(tag)].fetch_add(bytes, std::memory_order_relaxed);
    allocated_[static_cast<size_t>(tag)].fetch_add(bytes, std::memory_order_relaxed);
    return Buffer(*this, static_cast<std::byte*>(data), bytes, tag);
  }
  Result<void> copy_from_host(Buffer&, size_t, const void*, size_t) override {
    return unsupported("pinned memory is written in place");
  }
  Result<void> synchronize() override { return {}; }
  bool healthy() const noexcept override { return true; }

 private:
  void free(std::byte* data, size_t bytes) noexcept override {
    static_cast<void>(cudaFreeHost(data));
    owner_.allocated_[static_cast<size_t>(MemTag::kIo)].fetch_sub(bytes, std::memory_order_relaxed);
  }
  CudaBackend& owner_;
};

CudaBackend::CudaBackend(int ordinal, std::string name)
    : ordinal_(ordinal), name_(std::move(name)), pinned_(std::make_unique<Pinned>(*this)) {}

Result<std::unique_ptr<CudaBackend>> CudaBackend::create(const CudaOptions& options) {
  int count = 0;
  const cudaError_t found = cudaGetDeviceCount(&count);
  if (found != cudaSuccess) {
    return unsupported(std::string("no NVIDIA GPU can be used: ") + cudaGetErrorString(found),
                       "device");
  }
  if (options.ordinal < 0 || options.ordinal >= count) {
    return unsupported("there is no device cuda:" + std::to_string(options.ordinal) +
                           "; this machine has " + std::to_string(count) + ", counted from 0",
                       "device");
  }
  cudaDeviceProp properties{};
  const cudaError_t asked = cudaGetDeviceProperties(&properties, options.ordinal);
  if (asked != cudaSuccess) return failed("the GPU's properties cannot be read", asked);
  if (properties.major != kMajor || properties.minor != kMinor) {
    return unsupported(std::string(properties.name) + " has compute capability " +
                           std::to_string(properties.major) + "." +
                           std::to_string(properties.minor) +
                           "; the kernels of this build need 9.0 (Hopper)",
                       "device");
  }
  const cudaError_t chosen = cudaSetDevice(options.ordinal);
  if (chosen != cudaSuccess) return failed("the GPU cannot be used", chosen);
  cudaStream_t stream = nullptr;
  const cudaError_t made = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (made != cudaSuccess) return failed("no stream on the GPU", made);
  std::unique_ptr<CudaBackend> backend(new CudaBackend(options.ordinal, properties.name));
  backend->stream_ = {stream, properties.multiProcessorCount};
  return backend;
}

CudaBackend::~CudaBackend() {
  if (stream_.handle != nullptr) static_cast<void>(cudaStreamDestroy(handle(stream_)));
}

std::string CudaBackend::description() const {
  return "cuda:" + std::to_string(ordinal_) + " " + name_;
}

Result<void> CudaBackend::check(int code, const char* what) const {
  if (code == cudaSuccess) return {};
  healthy_.store(false, std::memory_order_relaxed);
  return failed(what, static_cast<cudaError_t>(code));
}

Result<void> CudaBackend::use_on_this_thread() {
  return check(cudaSetDevice(ordinal_), "the GPU cannot be used");
}

Result<Buffer> CudaBackend::allocate(size_t bytes, MemTag tag) {
  if (bytes == 0) return Buffer(*this, nullptr, 0, tag);
  O3_TRY(use_on_this_thread());
  void* data = nullptr;
  const cudaError_t code = cudaMalloc(&data, bytes);
  if (code == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());  // not sticky: the device is as good as before
    const auto left = memory();
    return Error{Code::kExhausted,
                 "cannot allocate " + std::to_string(bytes) + " bytes on " + description() +
                     (left.ok() ? ": " + std::to_string(left->free_bytes) + " are free" : ""),
                 {}};
  }
  O3_TRY(check(code, "memory of the GPU"));
  allocated_[static_cast<size_t>(tag)].fetch_add(bytes, std::memory_order_relaxed);
  return Buffer(*this, static_cast<std::byte*>(data), bytes, tag);
}

Result<Buffer> CudaBackend::allocate_pinned(size_t bytes) {
  return pinned_->allocate(bytes, MemTag::kIo);
}

void CudaBackend::free(std::byte* data, size_t /*bytes*/) noexcept {
  static_cast<void>(cudaFree(data));
}

Result<void> CudaBackend::copy_from_host(Buffer& to, size_t offset, const void* from,
                                         size_t bytes) {
  if (offset > to.bytes() || bytes > to.bytes() - offset) {
    return invalid("copy of " + std::to_string(bytes) + " bytes to offset " +
                   std::to_string(offset) + " of a buffer of " + std::to_string(to.bytes()));
  }
  O3_TRY(enqueue_copy(to.data() + offset, from, bytes));
  return synchronize();
}

Result<void> CudaBackend::copy_to_host(void* to, const void* from, size_t bytes) {
  O3_TRY(enqueue_copy(to, from, bytes));
  return synchronize();
}

Result<void> CudaBackend::enqueue_copy(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return {};
  return check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, handle(stream_)),
               "a copy to or from the GPU");
}

Result<void> CudaBackend::enqueue_zero(void* to, size_t bytes) {
  if (bytes == 0) return {};
  return check(cudaMemsetAsync(to, 0, bytes, handle(stream_)), "clearing memory of the GPU");
}

Result<void> CudaBackend::synchronize() {
  return check(cudaStreamSynchronize(handle(stream_)), "the GPU failed");
}

Result<void> CudaBackend::check_launches() {
  return check(cudaGetLastError(), "a kernel could not be launched");
}

std::optional<int64_t> CudaBackend::free_bytes() const {
  const auto now = memory();
  if (!now.ok()) return std::nullopt;
  return now->free_bytes;
}

Result<DeviceMemory> CudaBackend::memory() const {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  O3_TRY(check(cudaMemGetInfo(&free_bytes, &total_bytes), "the GPU's memory cannot be read"));
  return DeviceMemory{static_cast<int64_t>(free_bytes), static_cast<int64_t>(total_bytes)};
}

Result<std::unique_ptr<Backend>> create_backend(int ordinal) {
  O3_ASSIGN(auto backend, CudaBackend::create({.ordinal = ordinal}));
  return std::unique_ptr<Backend>(std::move(backend));
}

}  // namespace o3::device::cuda
