// SPDX-License-Identifier: Apache-2.0
// One query row per sequence over a long cache (split along it: Dao et al. 2023, "Flash-Decoding").
// A block takes kSplitTokens slots of one KV head, for all query heads that share it; each of its
// warps takes 32 slots, keys straight into registers in the order in which the tensor core wants
// them, values through shared memory. The last block of a sequence and head adds the splits up in
// their order.
#pragma once

#include "kernels/cuda/attention.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/number.cuh"
#include "kernels/cuda/paged.cuh"
#include "kernels/cuda/pipeline.cuh"

namespace o3::kernels::cuda {

inline constexpr int kTokens = 32;  // per warp
inline constexpr int kSplitWarps = kSplitTokens / kTokens;
inline constexpr int kSplitThreads = kSplitWarps * kWarp;
inline constexpr int kMaxGroup = 16;  // query heads per KV head: rows of the tensor core's tile
inline constexpr float kLog2E = 1.4426950408889634F;

template <int kDim>
struct SplitLayout {
  static constexpr int kRowBytes = kDim * 2 + 16;  // of V in shared memory
  static constexpr int kWarpBytes = kTokens * kRowBytes;
  static constexpr int kPieces = kDim / 8;   // of 16 bytes in a row
  static constexpr int kSlices = kDim / 32;  // of 32 dimensions
};

// What one warp found: for lane 4 g + t, rows (query heads) g and g + 8.
template <int kDim>
struct Found {
  float most[2] = {-INFINITY, -INFINITY};
  float total[2] = {0, 0};
  float sum[kDim / 8][4];  // as multiply()'s c
};

// Scores of 8 slots from `token` on, per lane of row g and g + 8 the slots 2t and 2t + 1.
template <class T, int kDim>
__device__ void score(const uint4 (&k)[SplitLayout<kDim>::kSlices],
                      const uint4 (&low)[SplitLayout<kDim>::kSlices],
                      const uint4 (&high)[SplitLayout<kDim>::kSlices], float (&c)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) c[i] = 0.0F;
#pragma unroll
  for (int s = 0; s < SplitLayout<kDim>::kSlices; ++s) {
    const uint32_t a[4] = {low[s].x, high[s].x, low[s].y, high[s].y};
    const uint32_t b[4] = {low[s].z, high[s].z, low[s].w, high[s].w};
    multiply<T>(c, a, k[s].x, k[s].y);
    multiply<T>(c, b, k[s].z, k[s].w);
  }
}

// Softmax over the warp's 32 slots; scores become weights.
__device__ inline void soften(float (&c)[4][4], const AttnDesc& desc, int token, int begin, int end,
                              float (&most)[2], float (&total)[2]) {
  const int t = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int slot = token + j * 8 + 2 * t + i % 2;
      c[j][i] = slot >= begin && slot < end ? capped(c[j][i], desc) : -INFINITY;
      most[i / 2] = fmaxf(most[i / 2], c[j][i]);
    }
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    most[r] = fmaxf(most[r], __shfl_xor_sync(~0U, most[r], 1));
    most[r] = fmaxf(most[r], __shfl_xor_sync(~0U, most[r], 2));
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float m = most[i / 2];
      c[j][i] = m == -INFINITY ? 0.0F : exp2f((c[j][i] - m) * kLog2E);
      total[i / 2] += c[j][i];
    }
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    total[r] += __shfl_xor_sync(~0U, total[r], 1);
    total[r] += __shfl_xor_sync(~0U, total[r], 2);
  }
}

template <class T, int kDim>
__device__ void weigh(const float (&c)[4][4], const char* values, float (&sum)[kDim / 8][4]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int n = 0; n < kDim / 8; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) sum[n][i] = 0.0F;
  }
#pragma unroll
  for (int step = 0; step < 2; ++step) {
    const float(&x)[4] = c[2 * step];
    const float(&y)[4] = c[2 * step + 1];
    const uint32_t a[4] = {pack<T>(x[0], x[1]), pack<T>(x[2], x[3]), pack<T>(y[0], y[1]),
                           pack<T>(y[2], y[3])};
    const int token = step * 16 + lane % 16;
#pragma unroll
    for (int n = 0; n < kDim / 8; n += 2) {
      uint32_t b[4];
      load_matrices_transposed(
          b, values + token * SplitLayout<kDim>::kRowBytes + (n * 8 + lane / 16 * 8) * 2);
      multiply<T>(sum[n], a, b[0], b[1]);
      multiply<T>(sum[n + 1], a, b[2], b[3]);
    }
  }
}

// Keys and values of the warp's slots on their way: all but the newest slot, which a kernel ahead
// may be writing, can be asked for early.
template <class T, int kDim, int kTogether>
struct Cached {
  using L = SplitLayout<kDim>;
  uint4 keys[kTogether][L::kSlices];

  __device__ void load_keys(const AttentionArgs& a, long long mine, int first) {
    const int g = static_cast<int>(threadIdx.x) % kWarp / 4;
    const int t = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
    for (int j = 0; j < kTogether; ++j) {
      const std::byte* from =
          a.kv.pool + a.kv.k_offset + __shfl_sync(~0U, mine, (first + j) * 8 + g);
#pragma unroll
      for (int s = 0; s < L::kSlices; ++s) {
        keys[j][s] = *reinterpret_cast<const uint4*>(from + (s * 32 + t * 8) * sizeof(T));
      }
    }
  }
  // The key of slot `newest` (of the warp's 32) again.
  __device__ void reload_key(const AttentionArgs& a, long long mine, int first, int newest) {
    const int g = static_cast<int>(threadIdx.x) % kWarp / 4;
    const int t = static_cast<int>(threadIdx.x) % 4;
    const std::byte* from = a.kv.pool + a.kv.k_offset + __shfl_sync(~0U, mine, newest);
#pragma unroll
    for (int j = 0; j < kTogether; ++j) {
      if ((first + j) * 8 + g != newest) continue;
#pragma unroll
      for (int s = 0; s < L::kSlices; ++s) {
        keys[j][s] = __ldcg(reinterpret_cast<const uint4*>(from + (s * 32 + t * 8) * sizeof(T)));
      }
    }
  }
};

// Values of slots [begin, end) of the warp's 32 into shared memory; the others become zero.
template <class T, int kDim>
__device__ void copy_values(const AttentionArgs& a, long long mine, int begin, int end,
                            char* values) {
  using L = SplitLayout<kDim>;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::byte* from = a.kv.pool + a.kv.v_offset;
#pragma unroll
  for (int i = 0; i < L::kPieces; ++i) {
    const int index = i * kWarp + lane;
    const int slot = index / L::kPieces;
    const int piece = index % L::kPieces;
    const long long offset = __shfl_sync(~0U, mine, slot);
    if (slot < begin) continue;
    copy_16(values + slot * L::kRowBytes + piece * 16, from + offset + piece * 16, slot < end);
  }
  commit_copies();
}

// A warp's slots of a split: asked for early, attended to later.
// kTogether: groups of 8 keys that are in registers at once, 1, 2 or 4.
template <class T, int kDim, int kTogether>
class SplitReader {
  using L = SplitLayout<kDim>;

 public:
  // Slots [token, token + kTokens) of a sequence's cache; `values` is the warp's shared memory. All
  // but the newest slot, which another block or kernel may still be writing.
  __device__ void ask(const AttentionArgs& a, const SequenceRows& sequence, int kv_head, int token,
                      char* values) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    token_ = token;
    begin_ = first_visible(a.desc, sequence.kv_len - 1);
    end_ = sequence.kv_len;
    if (!sees_any()) return;
    // Lane l knows where slot token + l lies; slots behind the end stand for the last one.
    mine_ = slot_offset(a.kv, a.step.tables + sequence.table_begin, min(token + lane, end_ - 1),
                        kv_head, sizeof(T));
    copy_values<T, kDim>(a, mine_, 0, newest(), values);
    cached_.load_keys(a, mine_, 0);
  }

  // q: [group][kDim] of the KV head. What earlier kernels and this block wrote can be read.
  __device__ Found<kDim> attend(const AttentionArgs& a, const T* q, char* values) {
    Found<kDim> found;
    if (!sees_any()) {
#pragma unroll
      for (int n = 0; n < kDim / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) found.sum[n][i] = 0.0F;
      }
      return found;
    }
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int g = lane / 4;
    const int t = lane % 4;
    const int group = a.desc.heads / a.kv.kv_heads;
    if (newest() < kTokens) {
      __syncwarp();
      wait_copies<0>();  // the zeros that stand in for the newest slot must not come after it
      __syncwarp();
      copy_values<T, kDim>(a, mine_, newest(), newest() + 1, values);
      cached_.reload_key(a, mine_, 0, newest());
    }
    uint4 low[L::kSlices];
    uint4 high[L::kSlices];
#pragma unroll
    for (int s = 0; s < L::kSlices; ++s) {
      const uint4 zero = make_uint4(0, 0, 0, 0);
      const int d = s * 32 + t * 8;
      low[s] = g < group ? *reinterpret_cast<const uint4*>(q + g * kDim + d) : zero;
      high[s] = g + 8 < group ? *reinterpret_cast<const uint4*>(q + (g + 8) * kDim + d) : zero;
    }
    float c[4][4];
#pragma unroll
    for (int first = 0; first < 4; first += kTogether) {
      if (first > 0) {
        cached_.load_keys(a, mine_, first);
        if (newest() < kTokens) cached_.reload_key(a, mine_, first, newest());
      }
#pragma unroll
      for (int j = 0; j < kTogether; ++j) score<T, kDim>(cached_.keys[j], low, high, c[first + j]);
    }
    soften(c, a.desc, token_, begin_, end_, found.most, found.total);
    wait_copies<0>();
    __syncwarp();
    weigh<T, kDim>(c, values, found.sum);
    return found;
  }

 private:
  __device__ bool sees_any() const { return token_ < end_ && token_ + kTokens > begin_; }
  __device__ int newest() const {
    return end_ - 1 - token_;
  }  // of the warp's slots, if below kTokens

  int token_ = 0;
  int begin_ = 0;  // slots that the query sees
  int end_ = 0;
  long long mine_ = 0;
  Cached<T, kDim, kTogether> cached_;
};

// The warp's result into its shared memory, over its values: sum[group][kDim].
template <int kDim>
__device__ void leave(const Found<kDim>& found, int group, float* sums, float* most, float* total) {
  const int g = static_cast<int>(threadIdx.x) % kWarp / 4;
  const int t = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = g + 8 * r;
    if (row >= group) continue;
    if (t == 0) {
      most[row] = found.most[r];
      total[row] = found.total[r];
    }
#pragma unroll
    for (int n = 0; n < kDim / 8; ++n) {
      *reinterpret_cast<float2*>(sums + row * kDim + n * 8 + 2 * t) =
          make_float2(found.sum[n][2 * r], found.sum[n][2 * r + 1]);
    }
  }
}

// Adds `count` partial results up in their order.
struct Merged {
  float most;
  float total;
  float sum;
};
template <class Get>
__device__ Merged merge(int count, const Get& get) {
  Merged merged{-INFINITY, 0.0F, 0.0F};
  for (int i = 0; i < count; ++i) merged.most = fmaxf(merged.most, get(i).most);
  if (merged.most == -INFINITY) return merged;
  for (int i = 0; i < count; ++i) {
    const Merged part = get(i);
    const float by = exp2f((part.most - merged.most) * kLog2E);
    merged.total += part.total * by;
    merged.sum += part.sum * by;
  }
  return merged;
}

__device__ inline void write(const AttentionArgs& a, long long at, const Merged& merged) {
  const float value = merged.total > 0.0F ? merged.sum / merged.total : 0.0F;
  if (a.out_dtype == DType::kF16) {
    static_cast<__half*>(a.out)[at] = from_float<__half>(value);
  } else {
    static_cast<__nv_bfloat16*>(a.out)[at] = from_float<__nv_bfloat16>(value);
  }
}

// Whether this block is the last of `blocks` that come here.
__device__ inline bool is_last(int32_t* arrivals, int blocks) {
  __shared__ bool last;
  __threadfence();
  join(1, kSplitThreads);
  if (threadIdx.x == 0) {
    last = atomicAdd(arrivals, 1) == blocks - 1;
    if (last) *arrivals = 0;
  }
  join(1, kSplitThreads);
  __threadfence();
  return last;
}

// What the warps of a block found, in shared memory.
struct SplitTotals {
  float most[kSplitWarps][kMaxGroup];
  float total[kSplitWarps][kMaxGroup];
};

// Adds the warps' results up; the last block of a sequence and head adds the splits up and writes
// the output. `shared`: [warp][kWarpBytes], as ask() filled it. Whole block.
template <int kDim>
__device__ void finish_split(const AttentionArgs& a, const AttnWork& work, int kv_head,
                             const Found<kDim>& found, char* shared, SplitTotals& totals) {
  using L = SplitLayout<kDim>;
  const SequenceRows& sequence = work.rows;
  const int group = a.desc.heads / a.kv.kv_heads;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  __syncwarp();
  leave<kDim>(found, group, reinterpret_cast<float*>(shared + warp * L::kWarpBytes),
              totals.most[warp], totals.total[warp]);
  join(1, kSplitThreads);
  const int elements = group * kDim;
  const long long out =
      (static_cast<long long>(sequence.row_begin) * a.desc.heads + kv_head * group) * kDim;
  // Partial results of a split and KV head: sum[group][kDim], then {most, total}[group].
  const long long record = static_cast<long long>(group) * (kDim + 2);
  const auto record_of = [&](int split) {
    return a.partials +
           (static_cast<long long>(sequence.split_begin + split) * a.kv.kv_heads + kv_head) *
               record;
  };
  // Splits before the window are not among the work.
  const int first = first_visible(a.desc, sequence.kv_len - 1) / kSplitTokens;
  for (int i = static_cast<int>(threadIdx.x); i < elements; i += kSplitThreads) {
    const int row = i / kDim;
    const Merged merged = merge(kSplitWarps, [&](int w) {
      return Merged{totals.most[w][row], totals.total[w][row],
                    reinterpret_cast<const float*>(shared + w * L::kWarpBytes)[i]};
    });
    if (sequence.splits == 1) {
      write(a, out + i, merged);
      continue;
    }
    float* to = record_of(work.part - first);
    to[i] = merged.sum;
    if (i % kDim == 0) {
      to[elements + 2 * row] = merged.most;
      to[elements + 2 * row + 1] = merged.total;
    }
  }
  if (sequence.splits == 1) return;
  if (!is_last(a.arrivals + work.sequence * a.kv.kv_heads + kv_head, sequence.splits)) return;
  for (int i = static_cast<int>(threadIdx.x); i < elements; i += kSplitThreads) {
    const int row = i / kDim;
    write(a, out + i, merge(sequence.splits, [&](int split) {
            const float* part = record_of(split);
            return Merged{__ldcg(part + elements + 2 * row), __ldcg(part + elements + 2 * row + 1),
                          __ldcg(part + i)};
          }));
  }
}

}  // namespace o3::kernels::cuda
