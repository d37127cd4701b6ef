// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "kernels/cuda/rotate_head.cuh"

namespace o3::kernels::cuda {
namespace {

constexpr int kWarps = 8;

template <class T>
__global__ __launch_bounds__(kWarps* kWarp) void rope_append_kernel(const RopeAppendArgs a) {
  __shared__ float heads[kWarps][kMaxHeadDim];
  launch_dependents();
  wait_for_previous();
  const int head = static_cast<int>(blockIdx.y * kWarps + threadIdx.x / kWarp);
  const int row = static_cast<int>(blockIdx.x);
  const int sequence = a.step.row_sequence[row];
  if (head >= a.heads + 2 * a.kv.kv_heads || sequence < 0) return;
  T* to = static_cast<T*>(a.q) + (static_cast<long long>(row) * a.heads + head) * a.kv.head_dim;
  if (head >= a.heads) {
    const bool is_value = head >= a.heads + a.kv.kv_heads;
    to = cache_slot<T>(a, a.step.sequences[sequence], row,
                       head - a.heads - (is_value ? a.kv.kv_heads : 0), is_value);
  }
  rotate_head<T>(a, row, head, heads[threadIdx.x / kWarp], to);
}

}  // namespace

void rope_append(const RopeAppendArgs& args, const device::cuda::Stream& stream) {
  O3_CHECK(args.kv.head_dim <= kMaxHeadDim, "rope_append: heads of at most 512");
  const auto heads = static_cast<unsigned>(args.heads + 2 * args.kv.kv_heads);
  const Shape shape{dim3(static_cast<unsigned>(args.rows), (heads + kWarps - 1) / kWarps),
                    kWarps * kWarp, 0};
  with_half_type(args.kv.dtype, [&](auto type) {
    launch(rope_append_kernel<decltype(type)>, shape, stream, args);
  });
}

}  // namespace o3::kernels::cuda
