// SPDX-License-Identifier: Apache-2.0
// Many query rows per sequence, heads of 256, whose sums leave no registers to
// warpgroup_attention() (Dao 2023, "FlashAttention-2"): a block takes kQueryTile rows of one head,
// 16 per warp, and walks the cache in tiles of 64 slots that start at multiples of 64, so that a
// row's sums do not depend on how its prompt was cut into chunks.
#include "base/check.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/number.cuh"
#include "kernels/cuda/paged.cuh"
#include "kernels/cuda/pipeline.cuh"
#include "kernels/cuda/warpgroup_attention.h"

namespace o3::kernels::cuda {
namespace {

constexpr int kWarps = kQueryTile / 16;
constexpr int kThreads = kWarps * kWarp;
constexpr int kSlots = 64;  // of a tile of the cache
constexpr float kLog2E = 1.4426950408889634F;

template <int kDim>
struct Layout {
  static constexpr int kRowBytes = kDim * 2 + 16;
  static constexpr int kPlaneBytes = kSlots * kRowBytes;  // K or V of a tile
  static constexpr int kStageBytes = 2 * kPlaneBytes;
  static constexpr int kPieces = kDim / 8;
};

// What a block works on.
struct Tile {
  SequenceRows sequence;
  const uint32_t* table;
  int kv_head;
  int first_slot;  // of its first query
  int end_slot;    // behind its last query
};

template <class T, int kDim>
__device__ void load_tile(const AttentionArgs& a, const Tile& tile, int slot, char* stage) {
  using L = Layout<kDim>;
  const std::byte* keys = a.kv.pool + a.kv.k_offset;
  const std::byte* values = a.kv.pool + a.kv.v_offset;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < kSlots * L::kPieces; i += kThreads) {
    const int row = i / L::kPieces;
    const int piece = i % L::kPieces * 16;
    const bool there = slot + row < tile.end_slot;
    const long long offset =
        slot_offset(a.kv, tile.table, min(slot + row, tile.end_slot - 1), tile.kv_head, sizeof(T)) +
        piece;
    copy_16(stage + row * L::kRowBytes + piece, keys + offset, there);
    copy_16(stage + L::kPlaneBytes + row * L::kRowBytes + piece, values + offset, there);
  }
  commit_copies();
}

// A warp's 16 queries and what they have seen so far. Lane 4 g + t: rows g and g + 8.
template <int kDim>
struct Rows {
  uint32_t q[kDim / 16][4];
  float sum[kDim / 8][4];
  float most[2] = {-INFINITY, -INFINITY};
  float total[2] = {0, 0};
  int slot[2];  // of the two rows; -1 behind the sequence's rows
};

template <class T, int kDim>
__device__ void load_queries(const AttentionArgs& a, const Tile& tile, int head, int first_row,
                             Rows<kDim>& rows) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int t = lane % 4;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int in_tile = warp * 16 + lane / 4 + 8 * r;
    const int row = first_row + in_tile;
    const bool there = row < tile.sequence.rows;
    rows.slot[r] = there ? tile.first_slot + in_tile : -1;
    const T* from =
        static_cast<const T*>(a.q) +
        (static_cast<long long>(tile.sequence.row_begin + row) * a.desc.heads + head) * kDim;
#pragma unroll
    for (int s = 0; s < kDim / 16; ++s) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        rows.q[s][2 * half + r] =
            there ? *reinterpret_cast<const uint32_t*>(from + s * 16 + half * 8 + 2 * t) : 0U;
      }
    }
  }
#pragma unroll
  for (int n = 0; n < kDim / 8; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) rows.sum[n][i] = 0.0F;
  }
}

template <class T, int kDim>
__device__ void score(const Rows<kDim>& rows, const char* keys, float (&c)[kSlots / 8][4]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const char* at = keys + (lane / 16 * 8 + lane % 8) * Layout<kDim>::kRowBytes + lane / 8 % 2 * 16;
#pragma unroll
  for (int n = 0; n < kSlots / 8; n += 2) {
#pragma unroll
    for (int i = 0; i < 4; ++i) c[n][i] = c[n + 1][i] = 0.0F;
#pragma unroll
    for (int s = 0; s < kDim / 16; ++s) {
      uint32_t b[4];
      load_matrices(b, at + n * 8 * Layout<kDim>::kRowBytes + s * 32);
      multiply<T>(c[n], rows.q[s], b[0], b[1]);
      multiply<T>(c[n + 1], rows.q[s], b[2], b[3]);
    }
  }
}

// Scores become weights relative to the largest so far; earlier sums are brought in line.
template <int kDim>
__device__ void soften(const AttnDesc& desc, int slot, bool whole, float (&c)[kSlots / 8][4],
                       Rows<kDim>& rows) {
  const int t = static_cast<int>(threadIdx.x) % 4;
  float most[2] = {rows.most[0], rows.most[1]};
#pragma unroll
  for (int n = 0; n < kSlots / 8; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      c[n][i] = capped(c[n][i], desc);
      if (!whole) {
        const int at = slot + n * 8 + 2 * t + i % 2;
        const int query = rows.slot[i / 2];
        if (at > query || at < first_visible(desc, query)) c[n][i] = -INFINITY;
      }
      most[i / 2] = fmaxf(most[i / 2], c[n][i]);
    }
  }
  float shift[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    most[r] = fmaxf(most[r], __shfl_xor_sync(~0U, most[r], 1));
    most[r] = fmaxf(most[r], __shfl_xor_sync(~0U, most[r], 2));
    shift[r] = most[r] == -INFINITY ? 0.0F : most[r] * kLog2E;
    const float by = exp2f(rows.most[r] * kLog2E - shift[r]);
    rows.most[r] = most[r];
    rows.total[r] *= by;
#pragma unroll
    for (int n = 0; n < kDim / 8; ++n) {
      rows.sum[n][2 * r] *= by;
      rows.sum[n][2 * r + 1] *= by;
    }
  }
#pragma unroll
  for (int n = 0; n < kSlots / 8; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      c[n][i] = exp2f(c[n][i] * kLog2E - shift[i / 2]);
      rows.total[i / 2] += c[n][i];
    }
  }
}

template <class T, int kDim>
__device__ void weigh(const float (&c)[kSlots / 8][4], const char* values, Rows<kDim>& rows) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int step = 0; step < kSlots / 16; ++step) {
    const float(&x)[4] = c[2 * step];
    const float(&y)[4] = c[2 * step + 1];
    const uint32_t p[4] = {pack<T>(x[0], x[1]), pack<T>(x[2], x[3]), pack<T>(y[0], y[1]),
                           pack<T>(y[2], y[3])};
    const char* at = values + (step * 16 + lane % 16) * Layout<kDim>::kRowBytes + lane / 16 * 16;
#pragma unroll
    for (int n = 0; n < kDim / 8; n += 2) {
      uint32_t b[4];
      load_matrices_transposed(b, at + n * 16);
      multiply<T>(rows.sum[n], p, b[0], b[1]);
      multiply<T>(rows.sum[n + 1], p, b[2], b[3]);
    }
  }
}

template <class T, class Out, int kDim>
__global__ __launch_bounds__(kThreads) void prefill_attention_kernel(const AttentionArgs a) {
  using L = Layout<kDim>;
  extern __shared__ __align__(128) char shared[];
  launch_dependents();
  if (static_cast<int>(blockIdx.y) >= a.step.counts[1]) return;
  const AttnWork work = a.step.prefill[blockIdx.y];
  const int head = static_cast<int>(blockIdx.x);
  const int first_row = work.part * kQueryTile;
  Tile tile;
  tile.sequence = work.rows;
  tile.table = a.step.tables + tile.sequence.table_begin;
  tile.kv_head = head / (a.desc.heads / a.kv.kv_heads);
  tile.first_slot = tile.sequence.kv_len - tile.sequence.rows + first_row;
  tile.end_slot = min(tile.first_slot + kQueryTile, tile.sequence.kv_len);

  wait_for_previous();

  Rows<kDim> rows;
  load_queries<T, kDim>(a, tile, head, first_row, rows);
  const int begin = first_visible(a.desc, tile.first_slot) / kSlots * kSlots;
  load_tile<T, kDim>(a, tile, begin, shared);
  int stage = 0;
  for (int slot = begin; slot < tile.end_slot; slot += kSlots) {
    const bool more = slot + kSlots < tile.end_slot;
    if (more) {
      load_tile<T, kDim>(a, tile, slot + kSlots, shared + (stage ^ 1) * L::kStageBytes);
      wait_copies<1>();
    } else {
      wait_copies<0>();
    }
    __syncthreads();
    const char* keys = shared + stage * L::kStageBytes;
    // Every query of the tile sees every slot of it.
    const bool whole =
        slot + kSlots <= tile.first_slot + 1 && slot >= first_visible(a.desc, tile.end_slot - 1);
    float c[kSlots / 8][4];
    score<T, kDim>(rows, keys, c);
    soften<kDim>(a.desc, slot, whole, c, rows);
    weigh<T, kDim>(c, keys + L::kPlaneBytes, rows);
    __syncthreads();  // before the stage is loaded anew
    stage ^= 1;
  }

  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float total = rows.total[r];
    total += __shfl_xor_sync(~0U, total, 1);
    total += __shfl_xor_sync(~0U, total, 2);
    if (rows.slot[r] < 0) continue;
    const float by = 1.0F / total;
    const long long row = tile.sequence.row_begin + first_row + rows.slot[r] - tile.first_slot;
    Out* to = static_cast<Out*>(a.out) + (row * a.desc.heads + head) * kDim + lane % 4 * 2;
#pragma unroll
    for (int n = 0; n < kDim / 8; ++n) {
      *reinterpret_cast<uint32_t*>(to + n * 8) =
          pack<Out>(rows.sum[n][2 * r] * by, rows.sum[n][2 * r + 1] * by);
    }
  }
}

}  // namespace

void prefill_attention(const AttentionArgs& args, const device::cuda::Stream& stream) {
  O3_CHECK(attention_is_fast(args.desc, args.kv), "prefill_attention: heads of 64, 128 or 256");
  if (args.kv.head_dim < 256) {
    warpgroup_attention(args, stream);
    return;
  }
  const dim3 grid(static_cast<unsigned>(args.desc.heads),
                  static_cast<unsigned>(args.step.prefill_capacity));
  with_half_type(args.kv.dtype, [&](auto type) {
    with_half_type(args.out_dtype, [&](auto out) {
      using T = decltype(type);
      using Out = decltype(out);
      launch(prefill_attention_kernel<T, Out, 256>,
             {grid, kThreads, size_t{2} * Layout<256>::kStageBytes}, stream, args);
    });
  });
}

}  // namespace o3::kernels::cuda
