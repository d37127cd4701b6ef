// SPDX-License-Identifier: Apache-2.0
// y[rows, n] = x[rows, k] * w[n, k]^T for a few rows, at the speed at which w can be read.
#pragma once

#include <cstdint>

#include "device/cuda/stream.h"
#include "device/dtype.h"

namespace o3::kernels::cuda {

inline constexpr int32_t kSkinnyRows = 16;     // most rows of one call
inline constexpr int32_t kSkinnySplit = 4096;  // most columns of w that one block multiplies

enum class Gate : uint8_t { kNone, kSilu, kGelu };

// All pointers are device memory. `dtype` is that of w, x and gated: F16 or BF16; or w is E4M3 with
// a scale per row, and x and gated are F16.
struct SkinnyArgs {
  device::DType dtype = device::DType::kBF16;
  const void* w = nullptr;        // [n, k], dense; rows are multiples of 16 bytes
  const float* scales = nullptr;  // [n], or null for 1
  const void* x = nullptr;        // [rows, k]
  int32_t n = 0;
  int32_t k = 0;
  int32_t rows = 0;  // 1 to kSkinnyRows
  // kNone: sums[split][rows][n], FP32; the caller adds the skinny_splits(k) planes up.
  float* sums = nullptr;
  // Else, for k <= kSkinnySplit, gated[rows, n/2] = gate(y[:, 0:n/2]) * y[:, n/2:n]; n is a
  // multiple of 8.
  Gate gate = Gate::kNone;
  void* gated = nullptr;
};

inline int32_t skinny_splits(int32_t k) {
  return (k + kSkinnySplit - 1) / kSkinnySplit;
}

// Sums have a fixed order that does not depend on rows; w may be read before earlier kernels of the
// stream are done, so it must have been written before them.
void skinny(const SkinnyArgs& args, const device::cuda::Stream& stream);

}  // namespace o3::kernels::cuda
