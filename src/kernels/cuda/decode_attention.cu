// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/check.h"
#include "kernels/cuda/split_attention.cuh"

namespace o3::kernels::cuda {
namespace {

// How the kernel is laid out for one type and width: copies in flight against teams at once.
template <class S, int kDim, int kColumns>
struct Plan {
  // E4M3 takes more arithmetic for its bytes: more teams, shorter rings.
  static constexpr bool kSmall = sizeof(S) == 1;
  static constexpr int kWarpBytes = kSmall ? 16384 : 24576;
  static constexpr int kStages = std::max(2, std::min(6, kWarpBytes / TileLayout<S, kDim>::kBytes));
  static constexpr int kTeams = kDim > 128               ? 1
                                : kSmall&& kColumns == 1 ? 3
                                                         : 2;  // a multiprocessor
  static constexpr int kRingBytes = kTeamWarps * TileRing<S, kDim, kStages>::kBytes;
};

// What the warps of a team found beside their sums.
struct Totals {
  float most[kTeamWarps][kMaxGroup];
  float total[kTeamWarps][kMaxGroup];
};

// Four neighbouring dimensions of one head's partial result.
struct Part {
  float most = -INFINITY;
  float total = 0.0F;
  float4 sum = {0.0F, 0.0F, 0.0F, 0.0F};

  __device__ void scale(float by) {
    total *= by;
    sum = {sum.x * by, sum.y * by, sum.z * by, sum.w * by};
  }
};

// Adds `count` parts up in their order, kTogether of them loaded at once.
template <int kTogether, class Get>
__device__ Part merge(int count, const Get& get) {
  Part all;
  for (int first = 0; first < count; first += kTogether) {
    Part parts[kTogether];
    float most = all.most;
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      if (first + i < count) parts[i] = get(first + i);
    }
#pragma unroll
    for (int i = 0; i < kTogether; ++i) most = fmaxf(most, parts[i].most);
    if (most == -INFINITY) continue;
    all.scale(exp2f((all.most - most) * kLog2E));
    all.most = most;
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      parts[i].scale(exp2f((parts[i].most - most) * kLog2E));
      all.total += parts[i].total;
      all.sum.x += parts[i].sum.x;
      all.sum.y += parts[i].sum.y;
      all.sum.z += parts[i].sum.z;
      all.sum.w += parts[i].sum.w;
    }
  }
  return all;
}

__device__ void write(const AttentionArgs& a, long long at, const Part& part) {
  const float by = part.total > 0.0F ? 1.0F / part.total : 0.0F;
  uint2 packed;
  if (a.out_dtype == DType::kF16) {
    packed.x = pack<__half>(part.sum.x * by, part.sum.y * by);
    packed.y = pack<__half>(part.sum.z * by, part.sum.w * by);
  } else {
    packed.x = pack<__nv_bfloat16>(part.sum.x * by, part.sum.y * by);
    packed.y = pack<__nv_bfloat16>(part.sum.z * by, part.sum.w * by);
  }
  reinterpret_cast<uint2*>(a.out)[at / 4] = packed;
}

// Partial results of one KV head: sum[group][kDim], then {most, total}[group].
__device__ float* record_of(const AttentionArgs& a, const SequenceRows& sequence, int number,
                            int kv_head, int dim) {
  const long long record =
      static_cast<long long>(sequence.split_begin + number) * a.kv.kv_heads + kv_head;
  return a.partials + record * (a.desc.heads / a.kv.kv_heads) * (dim + 2);
}
__device__ long long output_of(const AttentionArgs& a, const SequenceRows& sequence, int kv_head,
                               int dim) {
  const int group = a.desc.heads / a.kv.kv_heads;
  return (static_cast<long long>(sequence.row_begin) * a.desc.heads + kv_head * group) * dim;
}

// Adds the warps' results up: sums[warp][group][kDim] and `totals`, in shared memory.
template <int kDim>
__device__ void finish(const AttentionArgs& a, const Split& split, const float* sums,
                       const Totals& totals) {
  const SequenceRows& sequence = split.sequence;
  const int elements = a.desc.heads / a.kv.kv_heads * kDim;
  for (int i = static_cast<int>(threadIdx.x) * 4; i < elements; i += kTeamThreads * 4) {
    const int row = i / kDim;
    const Part part = merge<kTeamWarps>(kTeamWarps, [&](int warp) {
      return Part{totals.most[warp][row], totals.total[warp][row],
                  *reinterpret_cast<const float4*>(sums + warp * elements + i)};
    });
    if (sequence.splits == 1) {
      write(a, output_of(a, sequence, split.kv_head, kDim) + i, part);
      continue;
    }
    float* to = record_of(a, sequence, split.place(), split.kv_head, kDim);
    *reinterpret_cast<float2*>(to + i) = make_float2(part.sum.x, part.sum.y);
    *reinterpret_cast<float2*>(to + i + 2) = make_float2(part.sum.z, part.sum.w);
    if (i % kDim == 0) {
      *reinterpret_cast<float2*>(to + elements + 2 * row) = make_float2(part.most, part.total);
    }
  }
}

// The splits of each sequence and KV head, added up in their order by the block of the first. A
// kernel of its own: a fence for a last team to come would wait for the copies in flight.
__global__ __launch_bounds__(kTeamThreads) void merge_splits_kernel(
    const __grid_constant__ AttentionArgs a) {
  launch_dependents();
  if (static_cast<int>(blockIdx.x) >= a.step.counts[0]) return;
  const AttnWork work = a.step.decode[blockIdx.x];
  const SequenceRows& sequence = work.rows;
  const int first = first_split(sequence.kv_len, first_visible(a.desc, sequence.kv_len - 1));
  if (work.part != first) return;
  wait_for_previous();  // by one block at least, or the kernel behind would not wait for that ahead
  if (sequence.splits == 1) return;
  const int dim = a.kv.head_dim;
  const int kv_head = static_cast<int>(blockIdx.y);
  const int elements = a.desc.heads / a.kv.kv_heads * dim;
  for (int i = static_cast<int>(threadIdx.x) * 4; i < elements; i += kTeamThreads * 4) {
    const int row = i / dim;
    const Part part = merge<8>(sequence.splits, [&](int number) {
      const float* from = record_of(a, sequence, number, kv_head, dim);
      const float2 low = __ldcg(reinterpret_cast<const float2*>(from + i));
      const float2 high = __ldcg(reinterpret_cast<const float2*>(from + i + 2));
      const float2 all = __ldcg(reinterpret_cast<const float2*>(from + elements + 2 * row));
      return Part{all.x, all.y, {low.x, low.y, high.x, high.y}};
    });
    write(a, output_of(a, sequence, kv_head, dim) + i, part);
  }
}

template <class S, int kDim, int kColumns>
__global__
__launch_bounds__(kTeamThreads, (Plan<S, kDim, kColumns>::kTeams)) void decode_attention_kernel(
    const __grid_constant__ AttentionArgs a) {
  using P = Plan<S, kDim, kColumns>;
  using Reader = TileRing<S, kDim, P::kStages>;
  extern __shared__ __align__(128) char shared[];
  __shared__ Totals totals;
  launch_dependents();
  const int items = a.step.counts[0] * a.kv.kv_heads;
  if (static_cast<int>(blockIdx.x) >= items) return;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  Reader ring(a, shared + warp * Reader::kBytes, items);
#pragma unroll
  for (int i = 0; i < P::kStages; ++i) ring.ask();
  wait_for_previous();
  auto* sums = reinterpret_cast<float*>(shared + P::kRingBytes);
  const int group = a.desc.heads / a.kv.kv_heads;
  for (int item = static_cast<int>(blockIdx.x); item < items; item += static_cast<int>(gridDim.x)) {
    const Split split(a, item);
    const long long head =
        static_cast<long long>(split.sequence.row_begin) * a.desc.heads + split.kv_head * group;
    Sums<S, kDim, kColumns> found;
    found.start(static_cast<const Multiplied<S>*>(a.q) + head * kDim, group);
    for (int tile = 0; tile < split.tiles; ++tile) {
      const char* at = ring.wait();
      const int token = split.token(tile);
      if (split.sees(token)) found.add(a.desc, at, token, split.begin, split.end);
      ring.done();
      ring.ask();
    }
    found.leave(group, sums + warp * group * kDim, totals.most[warp], totals.total[warp]);
    join(1, kTeamThreads);
    finish<kDim>(a, split, sums, totals);
    join(1, kTeamThreads);  // before the next split's sums
  }
}

template <class S, int kDim, int kColumns>
void run(const AttentionArgs& args, const Stream& stream) {
  using P = Plan<S, kDim, kColumns>;
  const int group = args.desc.heads / args.kv.kv_heads;
  const size_t sums = size_t{kTeamWarps} * sizeof(float) * static_cast<size_t>(group * kDim);
  const int items = args.step.decode_capacity * args.kv.kv_heads;
  const int teams = std::min(items, P::kTeams * stream.multiprocessors);
  launch(decode_attention_kernel<S, kDim, kColumns>,
         {dim3(static_cast<unsigned>(teams)), kTeamThreads, P::kRingBytes + sums}, stream, args);
  const dim3 splits(static_cast<unsigned>(args.step.decode_capacity),
                    static_cast<unsigned>(args.kv.kv_heads));
  launch(merge_splits_kernel, {splits, kTeamThreads}, stream, args);
}

template <class S>
void run(const AttentionArgs& args, const Stream& stream) {
  const bool few = args.desc.heads / args.kv.kv_heads <= 8;
  if (args.kv.head_dim == 64) {
    few ? run<S, 64, 1>(args, stream) : run<S, 64, 2>(args, stream);
  } else if (args.kv.head_dim == 128) {
    few ? run<S, 128, 1>(args, stream) : run<S, 128, 2>(args, stream);
  } else {
    few ? run<S, 256, 1>(args, stream) : run<S, 256, 2>(args, stream);
  }
}

}  // namespace

bool attention_is_fast(const AttnDesc& desc, const PagedKv& kv) noexcept {
  return (kv.head_dim == 64 || kv.head_dim == 128 ||
          (kv.head_dim == 256 && kv.dtype != DType::kF8_E4M3)) &&
         desc.heads / kv.kv_heads <= kMaxGroup && kv.page_tokens >= kTileTokens;
}

void decode_attention(const AttentionArgs& args, const Stream& stream) {
  O3_CHECK(attention_is_fast(args.desc, args.kv), "decode_attention: heads of 64, 128 or 256");
  with_product_type(args.kv.dtype, [&](auto type) { run<decltype(type)>(args, stream); });
}

}  // namespace o3::kernels::cuda
