// SPDX-License-Identifier: Apache-2.0
// For heads that the tensor-core kernels do not take: one warp per row and query head.
#include "base/check.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/number.cuh"
#include "kernels/cuda/paged.cuh"

namespace o3::kernels::cuda {
namespace {

constexpr int kMost = 512 / kWarp;  // values of a head per lane

template <class S, class Out>
__global__ void plain_attention_kernel(const AttentionArgs a) {
  using T = Multiplied<S>;
  launch_dependents();
  wait_for_previous();
  const int row = static_cast<int>(blockIdx.x);
  const int head = static_cast<int>(blockIdx.y);
  const int lane = static_cast<int>(threadIdx.x);
  const int head_dim = a.kv.head_dim;
  const int sequence_index = a.step.row_sequence[row];
  const long long at = (static_cast<long long>(row) * a.desc.heads + head) * head_dim;
  float q[kMost];
  float sum[kMost];
#pragma unroll
  for (int i = 0; i < kMost; ++i) {
    const int d = lane + i * kWarp;
    q[i] = d < head_dim ? to_float(static_cast<const T*>(a.q)[at + d]) : 0.0F;
    sum[i] = 0.0F;
  }
  float most = -INFINITY;
  float total = 0.0F;
  if (sequence_index >= 0) {
    const SequenceRows sequence = a.step.sequences[sequence_index];
    const int slot = sequence.kv_len - sequence.rows + row - sequence.row_begin;
    const int kv_head = head / (a.desc.heads / a.kv.kv_heads);
    const uint32_t* table = a.step.tables + sequence.table_begin;
    for (int token = first_visible(a.desc, slot); token <= slot; ++token) {
      const std::byte* base = a.kv.pool + slot_offset(a.kv, table, token, kv_head, sizeof(S));
      const S* k = reinterpret_cast<const S*>(base + a.kv.k_offset);
      const S* v = reinterpret_cast<const S*>(base + a.kv.v_offset);
      float score = 0.0F;
#pragma unroll
      for (int i = 0; i < kMost; ++i) {
        const int d = lane + i * kWarp;
        if (d < head_dim) score += q[i] * to_float(k[d]);
      }
      for (int offset = kWarp / 2; offset > 0; offset /= 2) {
        score += __shfl_xor_sync(~0U, score, offset);
      }
      score = capped(score, a.desc);
      const float above = fmaxf(most, score);
      const float old = __expf(most - above);
      const float weight = __expf(score - above);
      total = total * old + weight;
      most = above;
#pragma unroll
      for (int i = 0; i < kMost; ++i) {
        const int d = lane + i * kWarp;
        if (d < head_dim) sum[i] = sum[i] * old + weight * to_float(v[d]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kMost; ++i) {
    const int d = lane + i * kWarp;
    const float value = total > 0.0F ? sum[i] / total : 0.0F;
    if (d < head_dim) static_cast<Out*>(a.out)[at + d] = from_float<Out>(value);
  }
}

}  // namespace

void plain_attention(const AttentionArgs& args, const device::cuda::Stream& stream) {
  O3_CHECK(args.kv.head_dim <= kMost * kWarp, "plain_attention: heads of at most 512");
  const Shape shape{dim3(static_cast<unsigned>(args.rows), static_cast<unsigned>(args.desc.heads)),
                    kWarp, 0};
  with_product_type(args.kv.dtype, [&](auto type) {
    with_half_type(args.out_dtype, [&](auto out) {
      launch(plain_attention_kernel<decltype(type), decltype(out)>, shape, stream, args);
    });
  });
}

}  // namespace o3::kernels::cuda
