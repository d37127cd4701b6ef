// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "kernels/cuda/split_attention.cuh"

namespace o3::kernels::cuda {
namespace {

template <class T, int kDim>
__global__ __launch_bounds__(kSplitThreads,
                             kDim > 128 ? 1
                                        : 2) void decode_attention_kernel(const AttentionArgs a) {
  extern __shared__ __align__(128) char shared[];
  __shared__ SplitTotals totals;
  launch_dependents();
  const int item = static_cast<int>(blockIdx.x);
  if (item >= a.step.counts[0]) return;
  const AttnWork work = a.step.decode[item];
  const int kv_head = static_cast<int>(blockIdx.y);
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  char* values = shared + warp * SplitLayout<kDim>::kWarpBytes;
  SplitReader<T, kDim, (kDim > 128 ? 2 : 4)> reader;
  reader.ask(a, work.rows, kv_head, work.part * kSplitTokens + warp * kTokens, values);
  wait_for_previous();
  const int group = a.desc.heads / a.kv.kv_heads;
  const T* q =
      static_cast<const T*>(a.q) +
      (static_cast<long long>(work.rows.row_begin) * a.desc.heads + kv_head * group) * kDim;
  const Found<kDim> found = reader.attend(a, q, values);
  finish_split<kDim>(a, work, kv_head, found, shared, totals);
}

}  // namespace

bool attention_is_fast(const AttnDesc& desc, const PagedKv& kv) noexcept {
  return (kv.head_dim == 64 || kv.head_dim == 128 || kv.head_dim == 256) &&
         desc.heads / kv.kv_heads <= kMaxGroup;
}

void decode_attention(const AttentionArgs& args, const device::cuda::Stream& stream) {
  O3_CHECK(attention_is_fast(args.desc, args.kv), "decode_attention: heads of 64, 128 or 256");
  const dim3 grid(static_cast<unsigned>(args.step.decode_capacity),
                  static_cast<unsigned>(args.kv.kv_heads));
  with_half_type(args.kv.dtype, [&](auto type) {
    using T = decltype(type);
    const auto run = [&](auto* kernel, size_t warp_bytes) {
      launch(kernel, {grid, kSplitThreads, kSplitWarps * warp_bytes}, stream, args);
    };
    if (args.kv.head_dim == 64) {
      run(decode_attention_kernel<T, 64>, SplitLayout<64>::kWarpBytes);
    } else if (args.kv.head_dim == 128) {
      run(decode_attention_kernel<T, 128>, SplitLayout<128>::kWarpBytes);
    } else {
      run(decode_attention_kernel<T, 256>, SplitLayout<256>::kWarpBytes);
    }
  });
}

}  // namespace o3::kernels::cuda
