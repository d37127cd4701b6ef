// SPDX-License-Identifier: Apache-2.0
// Rotary positions, the append to the paged cache, and attention over it, on the device.
#pragma once

#include <cstdint>

#include "device/cuda/stream.h"
#include "kernels/attention.h"
#include "kernels/cuda/step.h"
#include "kernels/cuda/sum_scales.h"
#include "kernels/rope.h"

namespace o3::kernels::cuda {

// Tables of a RopeTable in device memory.
struct DeviceRope {
  const float* cos = nullptr;  // [positions, dim/2]
  const float* sin = nullptr;
  int32_t dim = 0;
  RopeStyle style = RopeStyle::kInterleaved;
};

// From the product of the fused Q, K and V weights: adds the biases, norms heads, rotates; writes
// q (in the cache's dtype) and appends K and V. Rows of padding are left out.
struct RopeAppendArgs {
  const float* sums = nullptr;  // [splits][rows, (heads + 2 kv_heads) * head_dim]
  int32_t splits = 1;
  SumScales scales;
  const float* bias = nullptr;    // of Q, K and V, concatenated; or null
  const float* q_norm = nullptr;  // [head_dim], or null
  const float* k_norm = nullptr;
  float eps = 0.0F;
  DeviceRope rope;
  const int32_t* positions = nullptr;  // [rows]
  PagedKv kv;                          // F16, BF16 or E4M3 (scale 1, saturating)
  KvStep step;
  int32_t heads = 0;
  int32_t rows = 0;
  void* q = nullptr;  // [rows, heads * head_dim]; F16 beside E4M3
};
void rope_append(const RopeAppendArgs& args, const device::cuda::Stream& stream);

struct AttentionArgs {
  AttnDesc desc;
  PagedKv kv;
  KvStep step;
  int32_t rows = 0;
  const void* q = nullptr;  // [rows, heads * head_dim], in the cache's dtype; F16 beside E4M3
  DType out_dtype = DType::kBF16;
  void* out = nullptr;        // [rows, heads * head_dim]
  float* partials = nullptr;  // attention_partial_bytes()
};

// Whether the tensor-core kernels take these heads; else a plain kernel does, for any even width up
// to 512.
bool attention_is_fast(const AttnDesc& desc, const PagedKv& kv) noexcept;

// Decode: sequences of one row, split along the cache into parts of kSplitTokens. Prefill: tiles of
// kQueryTile rows. A row's result depends neither on the other rows nor on chunks, but decode and
// prefill round differently. Plain: all rows of the step.
void decode_attention(const AttentionArgs& args, const device::cuda::Stream& stream);
void prefill_attention(const AttentionArgs& args, const device::cuda::Stream& stream);
void plain_attention(const AttentionArgs& args, const device::cuda::Stream& stream);

// Bytes of AttentionArgs::partials for `splits` splits over all sequences.
inline int64_t attention_partial_bytes(int64_t splits, int32_t heads, int32_t head_dim) {
  return splits * heads * (int64_t{head_dim} + 2) * int64_t{sizeof(float)};
}

}  // namespace o3::kernels::cuda
