// SPDX-License-Identifier: Apache-2.0
// Many query rows per sequence, heads of 64 and 128 (after Shah et al. 2024, "FlashAttention-3").
// A block takes kQueryTile rows of one head: two warpgroups multiply, 64 rows each, queries and
// weights in registers; one thread of a third walks the cache in tiles of 64 slots and copies them
// into a ring. Scores of the next tile are multiplied while those of this one become weights. Tiles
// start at multiples of 64, so that a row's sums do not depend on how its prompt was cut.
#include <algorithm>

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/number.cuh"
#include "kernels/cuda/paged.cuh"
#include "kernels/cuda/pipeline.cuh"
#include "kernels/cuda/tensor_map.h"
#include "kernels/cuda/warpgroup.cuh"
#include "kernels/cuda/warpgroup_attention.h"

namespace o3::kernels::cuda {
namespace {

constexpr int kGroupThreads = 128;
constexpr int kGroupRows = 64;
constexpr int kGroups = kQueryTile / kGroupRows;
constexpr int kThreads = (kGroups + 1) * kGroupThreads;
constexpr int kSlots = 64;  // of a tile of the cache
constexpr int kStages = 4;
// Of a thread that copies, and of one that multiplies. E4M3 passes through the former's. A block
// starts with 168 for each; to ask for more than that in all would wait forever.
template <class S>
constexpr int kCopyRegisters = sizeof(S) == 1 ? 104 : 40;
template <class S>
constexpr int kSumRegisters = sizeof(S) == 1 ? 200 : 232;
template <class S>
constexpr bool kRegistersSuffice =
    kCopyRegisters<S> + kGroups * kSumRegisters<S> <= (kGroups + 1) * 168;
static_assert(kRegistersSuffice<E4m3> && kRegistersSuffice<__half>);
constexpr float kLog2E = 1.4426950408889634F;

template <int kDim>
struct Layout {
  static constexpr int kHalfBytes = kSlots * kSwizzledBytes;  // 64 numbers of every slot
  static constexpr int kHalves = kDim / kSwizzledNumbers;
  static constexpr int kPlaneBytes = kHalves * kHalfBytes;  // K or V of a tile
  static constexpr int kStageBytes = 2 * kPlaneBytes;
  static constexpr int kAlignment = 1024;  // of the swizzle
  static constexpr int kBytes = kStages * kStageBytes + kAlignment;
};

struct Maps {  // empty for E4M3
  CUtensorMap keys;
  CUtensorMap values;
};

// What a block works on.
struct Tile {
  SequenceRows sequence;
  int first_row;   // of the sequence's rows
  int first_slot;  // of its first query
  int begin;       // slots that any of its queries sees: begin a multiple of kSlots
  int end;

  __device__ Tile(const AttentionArgs& a, const AttnWork& work) : sequence(work.rows) {
    first_row = work.part * kQueryTile;
    first_slot = sequence.kv_len - sequence.rows + first_row;
    begin = first_visible(a.desc, first_slot) / kSlots * kSlots;
    end = min(first_slot + kQueryTile, sequence.kv_len);
  }
};

struct Ring {
  uint32_t stages;
  uint32_t full;
  uint32_t empty;
  int stage = 0;
  uint32_t parity = 0;

  __device__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

// One thread.
template <int kDim>
__device__ void copy_tiles(const AttentionArgs& a, const Maps& maps, const Tile& tile, int kv_head,
                           Ring ring) {
  using L = Layout<kDim>;
  const uint32_t* table = a.step.tables + tile.sequence.table_begin;
  const int shift = __ffs(a.kv.page_tokens) - 1;
  const int box_rows = min(a.kv.page_tokens, kSlots);
  const int first_row = kv_head * a.kv.page_tokens;
  for (int slot = tile.begin; slot < tile.end; slot += kSlots) {
    barrier_wait(ring.empty + ring.stage * 8, ring.parity ^ 1U);
    const uint32_t full = ring.full + ring.stage * 8;
    const uint32_t to = ring.stages + ring.stage * L::kStageBytes;
    // Pages behind the sequence's last slot do not exist.
    const int there =
        min(kSlots, (tile.sequence.kv_len - slot + box_rows - 1) / box_rows * box_rows);
    barrier_expect(full, there * kDim * 2 * 2);
    for (int row = 0; row < there; row += box_rows) {
      const int page = static_cast<int>(table[(slot + row) >> shift]);
      const int in_page = first_row + ((slot + row) & (a.kv.page_tokens - 1));
#pragma unroll
      for (int half = 0; half < L::kHalves; ++half) {
        const uint32_t at = to + half * L::kHalfBytes + row * kSwizzledBytes;
        copy_box(at, maps.keys, half * kSwizzledNumbers, in_page, page, full);
        copy_box(at + L::kPlaneBytes, maps.values, half * kSwizzledNumbers, in_page, page, full);
      }
    }
    ring.advance();
  }
}

// 16 E4M3 of a row to two pieces of F16.
template <int kDim>
__device__ void widen_piece(const uint4& from, int row, int piece, char* plane) {
  uint32_t wide[8];
  widen(from.x, wide[0], wide[1]);
  widen(from.y, wide[2], wide[3]);
  widen(from.z, wide[4], wide[5]);
  widen(from.w, wide[6], wide[7]);
  char* to = plane + piece / 4 * Layout<kDim>::kHalfBytes + row * kSwizzledBytes;
  const int at = piece % 4 * 2;
  *reinterpret_cast<uint4*>(to + (at ^ row % 8) * 16) =
      make_uint4(wide[0], wide[1], wide[2], wide[3]);
  *reinterpret_cast<uint4*>(to + ((at + 1) ^ row % 8) * 16) =
      make_uint4(wide[4], wide[5], wide[6], wide[7]);
}

// A warpgroup's tile of E4M3 in registers: keys, then values.
template <int kDim>
struct SmallTile {
  static constexpr int kPieces = kDim / 16;  // of a row
  static constexpr int kEach = kSlots * kPieces / kGroupThreads;
  uint4 keys[kEach];
  uint4 values[kEach];

  __device__ void load(const AttentionArgs& a, const Tile& tile, int kv_head, int slot) {
    const int thread = static_cast<int>(threadIdx.x) % kGroupThreads;
    const uint32_t* table = a.step.tables + tile.sequence.table_begin;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int at = i * kGroupThreads + thread;
      keys[i] = values[i] = make_uint4(0, 0, 0, 0);
      if (slot + at / kPieces >= tile.sequence.kv_len) continue;
      const std::byte* from =
          a.kv.pool + slot_offset(a.kv, table, slot + at / kPieces, kv_head, 1) + at % kPieces * 16;
      keys[i] = *reinterpret_cast<const uint4*>(from + a.kv.k_offset);
      values[i] = *reinterpret_cast<const uint4*>(from + a.kv.v_offset);
    }
  }
  __device__ void store(char* stage) const {
    const int thread = static_cast<int>(threadIdx.x) % kGroupThreads;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int at = i * kGroupThreads + thread;
      widen_piece<kDim>(keys[i], at / kPieces, at % kPieces, stage);
      widen_piece<kDim>(values[i], at / kPieces, at % kPieces, stage + Layout<kDim>::kPlaneBytes);
    }
  }
};

// The same for E4M3, by a whole warpgroup: the next tile is on its way while this one is widened.
template <int kDim>
__device__ void widen_tiles(const AttentionArgs& a, const Tile& tile, int kv_head, Ring ring,
                            char* stages) {
  SmallTile<kDim> next;
  next.load(a, tile, kv_head, tile.begin);
  for (int slot = tile.begin; slot < tile.end; slot += kSlots) {
    const SmallTile<kDim> now = next;
    if (slot + kSlots < tile.end) next.load(a, tile, kv_head, slot + kSlots);
    barrier_wait(ring.empty + ring.stage * 8, ring.parity ^ 1U);
    now.store(stages + ring.stage * Layout<kDim>::kStageBytes);
    fence_async();
    barrier_arrive(ring.full + ring.stage * 8);
    ring.advance();
  }
}

// The rows of a warpgroup: those of a thread are g and g + 8 of its warp's 16.
template <class T, int kDim, bool kCapped>
class Rows {
  using L = Layout<kDim>;

 public:
  __device__ Rows(const AttentionArgs& a, const Tile& tile, int head) : desc_(a.desc) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int t = lane % 4;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      row_[r] = tile.first_row + static_cast<int>(threadIdx.x) / kWarp * 16 + lane / 4 + 8 * r;
      const bool there = row_[r] < tile.sequence.rows;
      slot_[r] = tile.first_slot - tile.first_row + row_[r];
      const T* from =
          static_cast<const T*>(a.q) +
          (static_cast<long long>(tile.sequence.row_begin + row_[r]) * a.desc.heads + head) * kDim;
#pragma unroll
      for (int s = 0; s < kDim / 16; ++s) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          q_[s][2 * half + r] =
              there ? __ldcg(reinterpret_cast<const uint32_t*>(from + s * 16 + half * 8 + 2 * t))
                    : 0U;
        }
      }
      if (!there) row_[r] = -1;
    }
#pragma unroll
    for (int n = 0; n < kDim / 8; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) sum_[n][i] = 0.0F;
    }
  }

  // Scores of a tile, on their way.
  __device__ void score(uint32_t keys) {
    hold(score_);
    wgmma_begin();
#pragma unroll
    for (int s = 0; s < kDim / 16; ++s) {
      const uint32_t at = keys + s / 4 * L::kHalfBytes + s % 4 * 32;
      multiply_by<T, false>(score_, q_[s], along_rows(at), s > 0);
    }
    wgmma_commit();
  }
  // The sums of a tile with the weights at hand, on their way.
  __device__ void weigh(uint32_t values) {
    hold(sum_);
    wgmma_begin();
#pragma unroll
    for (int s = 0; s < kSlots / 16; ++s) {
      const uint32_t at = values + s * 16 * kSwizzledBytes;
      multiply_by<T, true>(sum_, weight_[s], across_rows(at, L::kHalfBytes), true);
    }
    wgmma_commit();
  }
  __device__ void scores_are_here() { hold(score_); }
  __device__ void sums_are_here() { hold(sum_); }

  // Scores become weights relative to the largest so far. `whole`: every query sees every slot.
  __device__ void soften(int slot, bool whole) {
    const int t = static_cast<int>(threadIdx.x) % 4;
    if constexpr (kCapped) {
#pragma unroll
      for (int n = 0; n < kSlots / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) score_[n][i] = capped(score_[n][i], desc_);
      }
    }
    if (!whole) {
#pragma unroll
      for (int n = 0; n < kSlots / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int at = slot + n * 8 + 2 * t + i % 2;
          const int query = slot_[i / 2];
          if (at > query || at < first_visible(desc_, query)) score_[n][i] = -INFINITY;
        }
      }
    }
    const float scale = kCapped ? kLog2E : desc_.scale * kLog2E;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float most = most_[r];
#pragma unroll
      for (int n = 0; n < kSlots / 8; ++n) {
        most = fmaxf(most, fmaxf(score_[n][2 * r], score_[n][2 * r + 1]));
      }
      most = fmaxf(most, __shfl_xor_sync(~0U, most, 1));
      most = fmaxf(most, __shfl_xor_sync(~0U, most, 2));
      const float shift = most == -INFINITY ? 0.0F : most * scale;
      by_[r] = exp2f(most_[r] * scale - shift);
      most_[r] = most;
      float total = 0.0F;
#pragma unroll
      for (int n = 0; n < kSlots / 8; ++n) {
#pragma unroll
        for (int i = 2 * r; i < 2 * r + 2; ++i) {
          score_[n][i] = exp2f(fmaf(score_[n][i], scale, -shift));
          total += score_[n][i];
        }
      }
      total_[r] = total_[r] * by_[r] + total;
    }
  }

  // Brings the sums in line with the last soften() and takes its weights. No sums are on their way.
  __device__ void take_weights() {
#pragma unroll
    for (int n = 0; n < kDim / 8; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) sum_[n][i] *= by_[i / 2];
    }
#pragma unroll
    for (int s = 0; s < kSlots / 16; ++s) {
      const float(&x)[4] = score_[2 * s];
      const float(&y)[4] = score_[2 * s + 1];
      weight_[s][0] = pack<T>(x[0], x[1]);
      weight_[s][1] = pack<T>(x[2], x[3]);
      weight_[s][2] = pack<T>(y[0], y[1]);
      weight_[s][3] = pack<T>(y[2], y[3]);
    }
  }

  template <class Out>
  __device__ void write(const AttentionArgs& a, const Tile& tile, int head) const {
    const int t = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float total = total_[r];
      total += __shfl_xor_sync(~0U, total, 1);
      total += __shfl_xor_sync(~0U, total, 2);
      if (row_[r] < 0) continue;
      const float by = 1.0F / total;
      Out* to =
          static_cast<Out*>(a.out) +
          (static_cast<long long>(tile.sequence.row_begin + row_[r]) * a.desc.heads + head) * kDim +
          2 * t;
#pragma unroll
      for (int n = 0; n < kDim / 8; ++n) {
        *reinterpret_cast<uint32_t*>(to + n * 8) =
            pack<Out>(sum_[n][2 * r] * by, sum_[n][2 * r + 1] * by);
      }
    }
  }

 private:
  const AttnDesc& desc_;
  uint32_t q_[kDim / 16][4];
  uint32_t weight_[kSlots / 16][4];
  float score_[kSlots / 8][4];
  float sum_[kDim / 8][4];
  float most_[2] = {-INFINITY, -INFINITY};
  float total_[2] = {0, 0};
  float by_[2] = {1, 1};
  int row_[2];   // of the sequence's; -1 behind the last
  int slot_[2];  // of these queries
};

// Values behind the sequence's last slot are whatever the memory held: times a weight of zero they
// might be NaN. Both warpgroups.
template <int kDim>
__device__ void clear_values(char* values, int first) {
  using L = Layout<kDim>;
  constexpr int kPieces = kSwizzledBytes / 16;
  for (int half = 0; half < L::kHalves; ++half) {
    for (int i = first * kPieces + static_cast<int>(threadIdx.x); i < kSlots * kPieces;
         i += kGroups * kGroupThreads) {
      reinterpret_cast<uint4*>(values + half * L::kHalfBytes)[i] = make_uint4(0, 0, 0, 0);
    }
  }
  fence_async();
  join(1, kGroups * kGroupThreads);
}

// What a warpgroup that multiplies does. `end`: behind the last slot that its queries see.
template <class T, class Out, int kDim, bool kCapped>
__device__ void multiply_tiles(const AttentionArgs& a, const Tile& tile, int head, Ring ring,
                               char* stages) {
  using L = Layout<kDim>;
  const int group = static_cast<int>(threadIdx.x) / kGroupThreads;
  const int first_slot = tile.first_slot + group * kGroupRows;
  const int end = min(first_slot + kGroupRows, tile.sequence.kv_len);
  const bool idle = tile.first_row + group * kGroupRows >= tile.sequence.rows;
  const int cached = tile.sequence.kv_len;
  Rows<T, kDim, kCapped> rows(a, tile, head);
  const auto keys = [&] { return ring.stages + ring.stage * L::kStageBytes; };
  // A tile that is here; only the last one can hold slots that do not exist.
  const auto await = [&](int slot) {
    barrier_wait(ring.full + ring.stage * 8, ring.parity);
    if (slot + kSlots > cached) {
      clear_values<kDim>(stages + ring.stage * L::kStageBytes + L::kPlaneBytes, cached - slot);
    }
  };
  const auto release = [&](int stage) {
    if (threadIdx.x % kGroupThreads == 0) barrier_arrive(ring.empty + stage * 8);
  };
  const auto whole = [&](int slot) {
    return slot + kSlots <= first_slot + 1 && slot >= first_visible(a.desc, end - 1);
  };

  int slot = tile.begin;
  if (!idle) {
    await(slot);
    rows.score(keys());
    wgmma_wait<0>();
    rows.scores_are_here();
    rows.soften(slot, whole(slot));
    rows.take_weights();
    for (; slot + kSlots < end; slot += kSlots) {
      const int stage = ring.stage;
      const uint32_t values = keys() + L::kPlaneBytes;
      ring.advance();
      await(slot + kSlots);
      rows.score(keys());
      rows.weigh(values);
      wgmma_wait<1>();
      rows.scores_are_here();
      rows.soften(slot + kSlots, whole(slot + kSlots));
      wgmma_wait<0>();
      rows.sums_are_here();
      release(stage);
      rows.take_weights();
    }
    rows.weigh(keys() + L::kPlaneBytes);
    wgmma_wait<0>();
    rows.sums_are_here();
    release(ring.stage);
    ring.advance();
    slot += kSlots;
  }
  for (; slot < tile.end; slot += kSlots) {  // what the other warpgroup alone sees
    await(slot);
    release(ring.stage);
    ring.advance();
  }
  if (!idle) rows.template write<Out>(a, tile, head);
}

template <class S, class Out, int kDim, bool kCapped>
__global__ __launch_bounds__(kThreads, 1) void warpgroup_attention_kernel(
    const __grid_constant__ AttentionArgs a, const __grid_constant__ Maps maps) {
  using L = Layout<kDim>;
  extern __shared__ char shared[];
  __shared__ uint64_t barriers[2 * kStages];
  launch_dependents();
  if (static_cast<int>(blockIdx.y) >= a.step.counts[1]) return;
  const Tile tile(a, a.step.prefill[blockIdx.y]);
  const int head = static_cast<int>(blockIdx.x);
  const uint32_t full = shared_address(barriers);
  const uint32_t base = shared_address(shared);
  const uint32_t shift = (base + L::kAlignment - 1) / L::kAlignment * L::kAlignment - base;
  const Ring ring{base + shift, full, full + kStages * 8};
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      barrier_init(ring.full + i * 8, sizeof(S) == 1 ? kGroupThreads : 1);
      barrier_init(ring.empty + i * 8, kGroups);
    }
  }
  fence_async();
  __syncthreads();
  wait_for_previous();
  if (threadIdx.x >= kGroups * kGroupThreads) {
    give_registers<kCopyRegisters<S>>();
    const int kv_head = head / (a.desc.heads / a.kv.kv_heads);
    if constexpr (sizeof(S) == 1) {
      widen_tiles<kDim>(a, tile, kv_head, ring, shared + shift);
    } else if (threadIdx.x == kGroups * kGroupThreads) {
      copy_tiles<kDim>(a, maps, tile, kv_head, ring);
    }
  } else {
    take_registers<kSumRegisters<S>>();
    multiply_tiles<Multiplied<S>, Out, kDim, kCapped>(a, tile, head, ring, shared + shift);
  }
}

template <class S, class Out, int kDim>
void run(const AttentionArgs& args, const Maps& maps, const Stream& stream) {
  const dim3 grid(static_cast<unsigned>(args.desc.heads),
                  static_cast<unsigned>(args.step.prefill_capacity));
  launch(args.desc.softcap > 0.0F ? warpgroup_attention_kernel<S, Out, kDim, true>
                                  : warpgroup_attention_kernel<S, Out, kDim, false>,
         {grid, kThreads, Layout<kDim>::kBytes}, stream, args, maps);
}

}  // namespace

void warpgroup_attention(const AttentionArgs& args, const Stream& stream) {
  const int box_rows = std::min(args.kv.page_tokens, kSlots);
  Maps maps{};
  if (args.kv.dtype != DType::kF8_E4M3) {
    maps = {paged_map(args.kv, args.kv.k_offset, box_rows),
            paged_map(args.kv, args.kv.v_offset, box_rows)};
  }
  with_product_type(args.kv.dtype, [&](auto type) {
    with_half_type(args.out_dtype, [&](auto out) {
      using S = decltype(type);
      using Out = decltype(out);
      args.kv.head_dim == 64 ? run<S, Out, 64>(args, maps, stream)
                             : run<S, Out, 128>(args, maps, stream);
    });
  });
}

}  // namespace o3::kernels::cuda
