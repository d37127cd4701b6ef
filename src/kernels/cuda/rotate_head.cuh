// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/attention.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/number.cuh"
#include "kernels/cuda/paged.cuh"

namespace o3::kernels::cuda {

inline constexpr int kMaxHeadDim = 512;

// Where K (or V) of a new row belongs in the cache.
template <class T>
__device__ T* cache_slot(const RopeAppendArgs& a, const SequenceRows& sequence, int row,
                         int kv_head, bool is_value) {
  const int slot = sequence.kv_len - sequence.rows + row - sequence.row_begin;
  return reinterpret_cast<T*>(
      a.kv.pool + (is_value ? a.kv.v_offset : a.kv.k_offset) +
      slot_offset(a.kv, a.step.tables + sequence.table_begin, slot, kv_head, sizeof(T)));
}

// One warp: head `head` of one row (queries first, then keys, then values), from the planes of sums
// through bias, norm and rotation to `to`. `x` is the warp's scratch, [head_dim].
template <class T>
__device__ void rotate_head(const RopeAppendArgs& a, int row, int head, float* x, T* to) {
  const int head_dim = a.kv.head_dim;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const bool is_query = head < a.heads;
  const bool is_value = head >= a.heads + a.kv.kv_heads;
  const long long width = static_cast<long long>(a.heads + 2 * a.kv.kv_heads) * head_dim;

  float squares = 0.0F;
  for (int i = lane; i < head_dim; i += kWarp) {
    const long long at = static_cast<long long>(head) * head_dim + i;
    float value = 0.0F;
    for (int split = 0; split < a.splits; ++split) {
      value += __ldcg(a.sums + (static_cast<long long>(split) * a.rows + row) * width + at);
    }
    if (a.scales.rows != nullptr) value *= a.scales.rows[row] * a.scales.columns[at];
    if (a.bias != nullptr) value += a.bias[at];
    x[i] = value;
    squares += value * value;
  }
  const float* norm = is_query ? a.q_norm : a.k_norm;
  if (norm != nullptr && !is_value) {
    for (int offset = kWarp / 2; offset > 0; offset /= 2) {
      squares += __shfl_xor_sync(~0U, squares, offset);
    }
    const float by = rsqrtf(squares / static_cast<float>(head_dim) + a.eps);
    for (int i = lane; i < head_dim; i += kWarp) x[i] *= by * norm[i];
  }
  __syncwarp();

  const int pairs = is_value ? 0 : a.rope.dim / 2;
  const bool interleaved = a.rope.style == RopeStyle::kInterleaved;
  const long long angles = static_cast<long long>(a.positions[row]) * (a.rope.dim / 2);
  for (int i = lane; i < head_dim; i += kWarp) {
    float value = x[i];
    if (i < 2 * pairs) {
      const int pair = interleaved ? i / 2 : i % pairs;
      const bool second = interleaved ? i % 2 != 0 : i >= pairs;
      const float other = interleaved ? x[i ^ 1] : x[second ? i - pairs : i + pairs];
      const float sin = a.rope.sin[angles + pair];
      value = value * a.rope.cos[angles + pair] + (second ? other * sin : -other * sin);
    }
    to[i] = from_float<T>(value);
  }
}

}  // namespace o3::kernels::cuda
