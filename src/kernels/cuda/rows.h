// SPDX-License-Identifier: Apache-2.0
// Row-wise glue between the products. All pointers are device memory; `dtype` (F16, BF16, or E4M3
// with a scale per row: value = scale * number) is that of what the next product reads.
#pragma once

#include <cstdint>

#include "device/cuda/stream.h"
#include "device/dtype.h"
#include "kernels/cuda/sum_scales.h"

namespace o3::kernels::cuda {

// residual[rows, width] (FP32) = scale * table[tokens]; a token of -1 gives zeros. The table is
// F32, F16 or BF16.
struct EmbedArgs {
  device::DType dtype = device::DType::kBF16;
  const void* table = nullptr;  // [vocabulary, width]
  const int32_t* tokens = nullptr;
  float* residual = nullptr;
  int32_t rows = 0;
  int32_t width = 0;
  float scale = 1.0F;
};
void embed(const EmbedArgs& args, const device::cuda::Stream& stream);

// v = sum of sums[splits][rows, width]; with post_weight, v = norm(v) * post_weight;
// residual += v; out = norm(residual) * weight. norm(x) = x / sqrt(mean(x^2) + eps).
struct AddNormArgs {
  float* residual = nullptr;  // [rows, width]; width a multiple of 4, at most 16384
  const float* sums = nullptr;
  int32_t splits = 0;  // 0: nothing is added
  SumScales scales;
  const float* post_weight = nullptr;  // [width]
  const float* weight = nullptr;       // [width]
  float eps = 0.0F;
  device::DType dtype = device::DType::kBF16;
  void* out = nullptr;          // [rows, width]
  float* out_scales = nullptr;  // [rows], for E4M3
  int32_t rows = 0;
  int32_t width = 0;
};
void add_norm(const AddNormArgs& args, const device::cuda::Stream& stream);

// out[rows, n] = gate(in[:, 0:n]) * in[:, n:2n], where in is the sum of in[splits][rows, 2n], FP32
// or (splits = 1) 16-bit numbers. E4M3 comes of BF16 only, n a multiple of 8 then. gelu: the tanh
// form, else silu.
struct GateArgs {
  device::DType in_dtype = device::DType::kF32;
  device::DType dtype = device::DType::kBF16;
  const void* in = nullptr;
  int32_t splits = 1;
  SumScales scales;
  void* out = nullptr;
  float* out_scales = nullptr;  // [rows], for E4M3
  int32_t rows = 0;
  int32_t n = 0;
  bool gelu = false;
};
void gate(const GateArgs& args, const device::cuda::Stream& stream);

// Rows of F16 or BF16 as E4M3: out * scales[row] = in, the largest of a row becomes 448.
struct QuantizeArgs {
  device::DType dtype = device::DType::kBF16;  // of in
  const void* in = nullptr;                    // [rows, width]; width a multiple of 8
  void* out = nullptr;
  float* scales = nullptr;
  int32_t rows = 0;
  int32_t width = 0;
};
void quantize_rows(const QuantizeArgs& args, const device::cuda::Stream& stream);

// to[i, :] = from[rows[i], :]; row_bytes is a multiple of 16.
struct GatherArgs {
  const void* from = nullptr;
  void* to = nullptr;
  const int32_t* rows = nullptr;
  int32_t count = 0;
  int64_t row_bytes = 0;
};
void gather(const GatherArgs& args, const device::cuda::Stream& stream);

// logits[rows, width] = the sum of sums[splits][rows, width] (which may be logits itself when
// splits is 1), with softcap > 0 cap * tanh(x / cap); best[row] = the index of the largest, the
// lowest of equals, or -1 when none is finite.
struct FinishLogitsArgs {
  const float* sums = nullptr;
  int32_t splits = 1;
  float softcap = 0.0F;
  float* logits = nullptr;
  int32_t* best = nullptr;
  int32_t rows = 0;
  int32_t width = 0;
};
void finish_logits(const FinishLogitsArgs& args, const device::cuda::Stream& stream);

}  // namespace o3::kernels::cuda
