// SPDX-License-Identifier: Apache-2.0
// Products of many rows, by cuBLASLt.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "device/cuda/cuda_backend.h"
#include "device/dtype.h"

namespace o3::kernels::cuda {

// y[rows, n] = x[rows, k] * w[n, k]^T, sums in FP32; or += when accumulating (y is FP32 then). Of
// E4M3 numbers without their scales: y is F32 or BF16, and k and n are multiples of 16.
struct GemmArgs {
  device::DType dtype = device::DType::kBF16;   // of x and w: F16, BF16, E4M3
  device::DType y_dtype = device::DType::kF32;  // F32 or 16-bit
  const void* x = nullptr;
  const void* w = nullptr;
  void* y = nullptr;
  int32_t rows = 0;
  int32_t n = 0;
  int32_t k = 0;
  bool accumulate = false;
};

// One per executor: it keeps what the library chose for each shape, and the library's workspace.
// One thread.
class Gemm {
 public:
  static Result<std::unique_ptr<Gemm>> create(device::cuda::CudaBackend& backend);
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  Result<void> run(const GemmArgs& args);

 private:
  struct State;
  explicit Gemm(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace o3::kernels::cuda
