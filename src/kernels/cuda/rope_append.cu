// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "kernels/cuda/rotate_head.cuh"

namespace o3::kernels::cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kManyRows = 512;

template <class T>
__global__ __launch_bounds__(kWarps* kWarp) void rope_append_kernel(const RopeAppendArgs a) {
  __shared__ float heads[kWarps][kMaxHeadDim];
  launch_dependents();
  wait_for_previous();
  const int row = static_cast<int>(blockIdx.x);
  const int number = a.step.row_sequence[row];
  if (number < 0) return;
  const SequenceRows sequence = a.step.sequences[number];
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int stride = static_cast<int>(gridDim.y) * kWarps;
  for (int head = static_cast<int>(blockIdx.y) * kWarps + warp; head < a.heads + 2 * a.kv.kv_heads;
       head += stride) {
    if (head < a.heads) {
      T* to = static_cast<T*>(a.q) + (static_cast<long long>(row) * a.heads + head) * a.kv.head_dim;
      rotate_head<T>(a, row, head, heads[warp], to);
      continue;
    }
    const bool is_value = head >= a.heads + a.kv.kv_heads;
    const int kv_head = head - a.heads - (is_value ? a.kv.kv_heads : 0);
    rotate_head<T>(a, row, head, heads[warp], cache_slot<T>(a, sequence, row, kv_head, is_value));
  }
}

}  // namespace

void rope_append(const RopeAppendArgs& args, const device::cuda::Stream& stream) {
  O3_CHECK(args.kv.head_dim <= kMaxHeadDim, "rope_append: heads of at most 512");
  const auto heads = static_cast<unsigned>(args.heads + 2 * args.kv.kv_heads);
  // Few rows: a warp for each head, so that nothing waits its turn. Many: a block for each row.
  const unsigned blocks = args.rows < kManyRows ? (heads + kWarps - 1) / kWarps : 1;
  const Shape shape{dim3(static_cast<unsigned>(args.rows), blocks), kWarps * kWarp, 0};
  with_half_type(args.kv.dtype, [&](auto type) {
    launch(rope_append_kernel<decltype(type)>, shape, stream, args);
  });
}

}  // namespace o3::kernels::cuda
