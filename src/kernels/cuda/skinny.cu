// SPDX-License-Identifier: Apache-2.0
// One product per launch. The copies start before the kernel ahead on the stream has ended, and the
// ring holds some microseconds' worth of them. It leaves no room for a second block: then all
// blocks of a launch would not be spread evenly (docs/gpu.md).
#include <algorithm>

#include "base/check.h"
#include "kernels/cuda/skinny.h"
#include "kernels/cuda/weight_ring.cuh"

namespace o3::kernels::cuda {
namespace {

constexpr int kStages = 6;

struct Params {
  Product product;
  ProductOutput out;
  const char* x;
  bool clear;
};

template <class W, bool kHigh>
__global__ __launch_bounds__(kBlockThreads,
                             1) void skinny_kernel(const __grid_constant__ Params p) {
  extern __shared__ __align__(128) char stages[];
  __shared__ uint64_t barriers[2 * kStages];
  __shared__ UnitSums<kHigh> sums;
  launch_dependents();
  Ring<kStages> ring(stages, barriers, p.clear);
  __syncthreads();
  if (threadIdx.x >= kRingThreads) {
    copy_weights<W, kStages>(p.product, ring);
    return;
  }
  wait_for_previous();
  multiply_units<W, kHigh, kStages>(p.product, p.out, ring, sums, [&](int split, XShare<kHigh>& x) {
    load_x<W, kHigh>(p.x, p.product.k * 2LL, p.out.rows, split * p.product.columns,
                     columns_of(p.product, split), x, LoadL2{});
  });
}

template <class W>
void run(const SkinnyArgs& args, const device::cuda::Stream& stream) {
  Params p{.product = make_product(args.w, args.n, args.k, skinny_splits(args.k), args.gate),
           .out = {args.sums, args.gated, args.rows, args.scales},
           .x = static_cast<const char*>(args.x),
           .clear = false};
  p.clear = has_gaps<W>(p.product);
  const int units = p.product.splits * p.product.tiles;
  const Shape shape{dim3(static_cast<unsigned>(std::min(units, stream.multiprocessors))),
                    kBlockThreads, Ring<kStages>::kBytes};
  launch(args.rows > 8 ? skinny_kernel<W, true> : skinny_kernel<W, false>, shape, stream, p);
}

}  // namespace

void skinny(const SkinnyArgs& args, const device::cuda::Stream& stream) {
  const bool gated = args.gate != Gate::kNone;
  O3_CHECK(args.rows >= 1 && args.rows <= kSkinnyRows, "skinny: 1 to 16 rows");
  O3_CHECK(args.k % 8 == 0 && args.k > 0, "skinny: k is a multiple of 8");
  O3_CHECK(!gated || (args.n % 8 == 0 && args.k <= kSkinnySplit), "skinny: gated shape");
  if (args.dtype == device::DType::kF8_E4M3) {
    O3_CHECK(args.k % 16 == 0, "skinny: k is a multiple of 16 for E4M3");
    run<E4m3>(args, stream);
    return;
  }
  with_half_type(args.dtype, [&](auto type) { run<decltype(type)>(args, stream); });
}

}  // namespace o3::kernels::cuda
