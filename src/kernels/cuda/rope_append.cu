// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/check.h"
#include "kernels/cuda/rotate_head.cuh"
#include "kernels/cuda/rotate_heads.cuh"

namespace o3::kernels::cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kManyRows = 256;
constexpr int kHeadsTogether = 4;

// Heads of any width.
template <class S>
__global__ __launch_bounds__(kWarps* kWarp) void rope_append_kernel(const RopeAppendArgs a) {
  __shared__ float heads[kWarps][kMaxHeadDim];
  launch_dependents();
  wait_for_previous();
  const int head = static_cast<int>(blockIdx.y * kWarps + threadIdx.x / kWarp);
  const int row = static_cast<int>(blockIdx.x);
  const int sequence = a.step.row_sequence[row];
  if (head >= a.heads + 2 * a.kv.kv_heads || sequence < 0) return;
  float* x = heads[threadIdx.x / kWarp];
  if (head < a.heads) {
    using Q = Multiplied<S>;
    const long long at = (static_cast<long long>(row) * a.heads + head) * a.kv.head_dim;
    rotate_head(a, row, head, x, static_cast<Q*>(a.q) + at);
    return;
  }
  const bool is_value = head >= a.heads + a.kv.kv_heads;
  const int kv_head = head - a.heads - (is_value ? a.kv.kv_heads : 0);
  rotate_head(a, row, head, x,
              cache_slot<S>(a, a.step.sequences[sequence], row, kv_head, is_value));
}

// A warp: kHeads heads of one row, each lane kWidth neighbouring numbers of all of them.
template <class S, int kWidth, int kHeads>
__global__ __launch_bounds__(kWarps* kWarp) void rope_append_fast_kernel(const RopeAppendArgs a) {
  launch_dependents();
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int first = (static_cast<int>(blockIdx.y) * kWarps + warp) * kHeads;
  const int row = static_cast<int>(blockIdx.x);
  const int number = a.step.row_sequence[row];
  const int total = a.heads + 2 * a.kv.kv_heads;
  Rotation<kWidth> rotation(a, row);
  wait_for_previous();
  if (number < 0 || first >= total) return;
  const SequenceRows sequence = a.step.sequences[number];
  float x[kHeads][kWidth];
  load_heads<kWidth, kHeads>(a, row, first, min(kHeads, total - first), x);
#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
    const int head = first + h;
    if (head >= total) break;
    const bool is_value = head >= a.heads + a.kv.kv_heads;
    if (!is_value) {
      norm_head<kWidth>(a, head < a.heads ? a.q_norm : a.k_norm, x[h]);
      rotation.apply(a, x[h]);
    }
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    if (head < a.heads) {
      using Q = Multiplied<S>;
      const long long at = (static_cast<long long>(row) * a.heads + head) * a.kv.head_dim;
      store_numbers(static_cast<Q*>(a.q) + at + lane * kWidth, x[h]);
    } else {
      const int kv_head = head - a.heads - (is_value ? a.kv.kv_heads : 0);
      store_numbers(cache_slot<S>(a, sequence, row, kv_head, is_value) + lane * kWidth, x[h]);
    }
  }
}

template <class S, int kWidth>
void run_fast(const RopeAppendArgs& args, const Stream& stream) {
  const int heads = args.heads + 2 * args.kv.kv_heads;
  // Few rows: a warp for each head, so that nothing waits its turn.
  const int together = args.rows < kManyRows ? 1 : kHeadsTogether;
  const int per_block = kWarps * together;
  const dim3 grid(static_cast<unsigned>(args.rows),
                  static_cast<unsigned>((heads + per_block - 1) / per_block));
  launch(together == 1 ? rope_append_fast_kernel<S, kWidth, 1>
                       : rope_append_fast_kernel<S, kWidth, kHeadsTogether>,
         {grid, kWarps * kWarp, 0}, stream, args);
}

template <class S>
void run(const RopeAppendArgs& args, const Stream& stream) {
  // A number's partner lies at the same place of another lane, and angles are read four by four.
  const bool lanes = args.rope.dim % std::max(8, args.kv.head_dim / 16) == 0;
  if (args.kv.head_dim == 64 && lanes) return run_fast<S, 2>(args, stream);
  if (args.kv.head_dim == 128 && lanes) return run_fast<S, 4>(args, stream);
  if (args.kv.head_dim == 256 && lanes) return run_fast<S, 8>(args, stream);
  const auto heads = static_cast<unsigned>(args.heads + 2 * args.kv.kv_heads);
  const dim3 grid(static_cast<unsigned>(args.rows), (heads + kWarps - 1) / kWarps);
  launch(rope_append_kernel<S>, {grid, kWarps * kWarp, 0}, stream, args);
}

}  // namespace

void rope_append(const RopeAppendArgs& args, const Stream& stream) {
  O3_CHECK(args.kv.head_dim <= kMaxHeadDim, "rope_append: heads of at most 512");
  with_product_type(args.kv.dtype, [&](auto type) { run<decltype(type)>(args, stream); });
}

}  // namespace o3::kernels::cuda
