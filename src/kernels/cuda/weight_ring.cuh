// SPDX-License-Identifier: Apache-2.0
// Rows of weight matrices stream through a ring in shared memory by bulk copies. Four warps start
// the copies, four rows of every stage each (one warp could not start them fast enough, and those
// that multiply have no time for it: docs/gpu.md). Eight warps multiply; each owns a fixed share of
// the columns, whose x it keeps in registers, so weights are all that moves. The copying warps know
// the products to come and run ahead of what is multiplied, over the ends of products.
#pragma once

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/number.cuh"
#include "kernels/cuda/pipeline.cuh"
#include "kernels/cuda/skinny.h"
#include "kernels/cuda/weight_tile.cuh"

namespace o3::kernels::cuda {

// y = x * w^T as blocks share it: units of kTile rows of w and one split of its columns.
struct Product {
  const char* w;
  int n;
  int k;
  int tiles;    // of kTile rows of w; a gated tile is half gate, half up
  int splits;   // of k
  int columns;  // of one split, at most kSkinnySplit
  Gate gate;
};

inline Product make_product(const void* w, int n, int k, int splits, Gate gate) {
  Product product{};
  product.w = static_cast<const char*>(w);
  product.n = n;
  product.k = k;
  product.tiles = (n + kTile - 1) / kTile;  // also of n / 2 gates and as many ups
  product.splits = splits;
  constexpr int kMultiple = 64;  // whole sectors of memory
  const int even = (k + product.splits - 1) / product.splits;
  product.columns = (even + kMultiple - 1) / kMultiple * kMultiple;
  product.gate = gate;
  return product;
}

// Whether a step is not whole: x is zero there, but zero times whatever lies in the memory could be
// NaN, so the ring has to be cleared first.
template <class W>
bool has_gaps(const Product& product) {
  return product.k % Columns<W>::kStep != 0;
}

// A block's units [first, last), tiles running faster than splits.
struct Share {
  int first;
  int last;
};
__device__ inline Share share_of(const Product& p) {
  const long long units = static_cast<long long>(p.splits) * p.tiles;
  return {static_cast<int>(units * blockIdx.x / gridDim.x),
          static_cast<int>(units * (blockIdx.x + 1) / gridDim.x)};
}

__device__ inline int columns_of(const Product& p, int split) {
  return min(p.columns, p.k - split * p.columns);
}

// Row of w in place `i` of a tile, or -1.
__device__ inline int weight_row(const Product& p, int tile, int i) {
  if (p.gate != Gate::kNone) {
    const int half = kTile / 2;
    const int row = tile * half + i % half;
    return row >= p.n / 2 ? -1 : i < half ? row : row + p.n / 2;
  }
  const int row = tile * kTile + i;
  return row < p.n ? row : -1;
}

// The stages in shared memory, and where the block stands in them.
template <int kStages>
struct Ring {
  static constexpr int kBytes = kStages * kStageBytes;
  static constexpr int kBarrierBytes = 2 * kStages * 8;
  uint32_t stages;
  uint32_t full;   // [kStages] barriers
  uint32_t empty;  // [kStages] barriers
  int stage = 0;   // the next to be multiplied
  uint32_t parity = 0;

  // Every thread of the block; the barriers are ready behind the next __syncthreads().
  __device__ Ring(char* its_stages, uint64_t* barriers, bool clear)
      : stages(shared_address(its_stages)),
        full(shared_address(barriers)),
        empty(full + kStages * 8) {
    if (threadIdx.x == 0) {
      for (int i = 0; i < kStages; ++i) {
        barrier_init(full + i * 8, kCopyWarps);
        barrier_init(empty + i * 8, kRingWarps);
      }
    }
    for (int i = static_cast<int>(threadIdx.x); clear && i < kBytes / 16; i += kBlockThreads) {
      reinterpret_cast<uint4*>(its_stages)[i] = make_uint4(0, 0, 0, 0);
    }
    fence_async();
  }
  __device__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

// What the copying warps do: every stage of the block's units.
template <class W, int kStages>
__device__ void copy_weights(const Product& p, const Ring<kStages>& ring) {
  if (threadIdx.x % kWarp != 0) return;
  const int warp = static_cast<int>(threadIdx.x) / kWarp - kRingWarps;
  const uint64_t policy = evict_first();
  int stage = 0;
  uint32_t parity = 1;  // the ring starts empty
  const Share share = share_of(p);
  for (int unit = share.first; unit < share.last; ++unit) {
    const int split = unit / p.tiles;
    const int tile = unit - split * p.tiles;
    const char* from[kCopyRows];
    uint32_t present = 0;
#pragma unroll
    for (int i = 0; i < kCopyRows; ++i) {
      const int row = weight_row(p, tile, warp + i * kCopyWarps);
      from[i] = row < 0 ? nullptr
                        : p.w + (static_cast<long long>(row) * p.k +
                                 static_cast<long long>(split) * p.columns) *
                                    static_cast<long long>(sizeof(W));
      present += row < 0 ? 0 : 1;
    }
    const int row_bytes = columns_of(p, split) * static_cast<int>(sizeof(W));
    for (int begin = 0; begin < row_bytes; begin += kChunkBytes) {
      const uint32_t bytes = min(kChunkBytes, row_bytes - begin);
      const uint32_t full = ring.full + stage * 8;
      const uint32_t to = ring.stages + stage * kStageBytes + warp * kRowBytes;
      barrier_wait(ring.empty + stage * 8, parity);
      barrier_expect(full, bytes * present);
#pragma unroll
      for (int i = 0; i < kCopyRows; ++i) {
        if (from[i] == nullptr) continue;
        bulk_copy(to + i * kCopyWarps * kRowBytes, from[i] + begin, bytes, full, policy);
      }
      if (++stage == kStages) {
        stage = 0;
        parity ^= 1;
      }
    }
  }
}

// The barrier of the warps that multiply.
__device__ inline void join_block() {
  join(1, kRingThreads);
}

// silu(x) = x / (1 + e^-x); gelu in the tanh form.
__device__ inline float gate_of(Gate gate, float x) {
  if (gate == Gate::kSilu) return x / (1.0F + __expf(-x));
  const float inner = 0.7978845608F * (x + 0.044715F * x * x * x);
  return 0.5F * x * (1.0F + tanhf(inner));
}

// Where a product's results go: sums[split][rows][n] FP32, or gated[rows][n / 2]. `scales` of w's
// rows, or null.
struct ProductOutput {
  float* sums;
  void* gated;
  int rows;
  const float* scales;
};

// The scales that this thread needs in write_unit(): of its column, or of its gate and up. Asked
// for ahead, or every unit would wait for them.
__device__ inline float2 scales_of(const Product& p, const ProductOutput& out, int unit) {
  float2 scales = {1.0F, 1.0F};
  if (out.scales == nullptr) return scales;
  const int tile = unit % p.tiles;
  if (p.gate != Gate::kNone) {
    const int col = tile * (kTile / 2) + static_cast<int>(threadIdx.x) % (kTile / 2);
    if (col < p.n / 2) scales = {out.scales[col], out.scales[p.n / 2 + col]};
  } else {
    const int col = tile * kTile + static_cast<int>(threadIdx.x) % kTile;
    if (col < p.n) scales.x = out.scales[col];
  }
  return scales;
}

// Adds the warps' shares of a unit, [warp][stride], up and writes it.
template <class T>
__device__ void write_unit(const Product& p, const ProductOutput& out, int unit, const float* warps,
                           int stride, const float2& scales) {
  const auto sum = [&](int at) {
    float total = 0.0F;
#pragma unroll
    for (int warp = 0; warp < kRingWarps; ++warp) total += warps[warp * stride + at];
    return total;
  };
  const int tile = unit % p.tiles;
  if (p.gate != Gate::kNone) {
    const int half = kTile / 2;
    const int row = static_cast<int>(threadIdx.x) / half;
    const int col = static_cast<int>(threadIdx.x) % half;
    if (row >= out.rows || tile * half + col >= p.n / 2) return;
    const float gate = scales.x * sum(row * kTile + col);
    const float up = scales.y * sum(row * kTile + half + col);
    static_cast<T*>(out.gated)[static_cast<long long>(row) * (p.n / 2) + tile * half + col] =
        from_float<T>(gate_of(p.gate, gate) * up);
    return;
  }
  const int row = static_cast<int>(threadIdx.x) / kTile;
  const int col = tile * kTile + static_cast<int>(threadIdx.x) % kTile;
  if (row >= out.rows || col >= p.n) return;
  const long long plane = static_cast<long long>(unit / p.tiles) * out.rows;
  out.sums[(plane + row) * p.n + col] =
      scales.x * sum(row * kTile + static_cast<int>(threadIdx.x) % kTile);
}

template <bool kHigh>
using UnitSums = float[2][kRingWarps][(kHigh ? 16 : 8) * kTile];  // in shared memory

// This block's units of a product. `x_of(split, x)` loads the warp's share of x. Every warp that
// multiplies.
template <class W, bool kHigh, int kStages, class XOf>
__device__ void multiply_units(const Product& p, const ProductOutput& out, Ring<kStages>& ring,
                               UnitSums<kHigh>& sums, const XOf& x_of) {
  using C = Columns<W>;
  constexpr int kPerWarp = (kHigh ? 16 : 8) * kTile;
  constexpr int kTogether = kHigh ? 1 : kSteps;  // steps whose weights are in registers at once
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int g = lane / 4;
  const int t = lane % 4;
  const Share share = share_of(p);
  const uint32_t mine_in_stage = ring.stages + g * kRowBytes + warp * kSteps * 64 + t * 16;
  XShare<kHigh> x;
  int loaded = -1;
  for (int unit = share.first; unit < share.last; ++unit) {
    const int split = unit / p.tiles;
    if (split != loaded) {
      x_of(split, x);
      loaded = split;
    }
    const float2 scales = scales_of(p, out, unit);
    TileSums<kHigh> tile_sums;
    const int columns = columns_of(p, split);
    const int chunks = (columns + C::kChunk - 1) / C::kChunk;
#pragma unroll
    for (int chunk = 0; chunk < C::kChunks; ++chunk) {
      if (chunk >= chunks) break;
      barrier_wait(ring.full + ring.stage * 8, ring.parity);
      const uint32_t at = mine_in_stage + ring.stage * kStageBytes;
#pragma unroll
      for (int first = 0; first < kSteps; first += kTogether) {
        uint4 w[kTogether][2];
#pragma unroll
        for (int s = 0; s < kTogether; ++s) {
          w[s][0] = load_shared(at + (first + s) * 64);
          w[s][1] = load_shared(at + (first + s) * 64 + 8 * kRowBytes);
        }
        if (first + kTogether == kSteps) {
          __syncwarp();
          if (lane == 0) barrier_arrive(ring.empty + ring.stage * 8);
        }
#pragma unroll
        for (int s = 0; s < kTogether; ++s) {
          if (chunk * C::kChunk + (warp * kSteps + first + s) * C::kStep >= columns) break;
          multiply_step<W, kHigh>(x, chunk * kSteps + first + s, w[s][0], w[s][1], tile_sums);
        }
      }
      ring.advance();
    }
    tile_sums.leave(sums[unit & 1][warp]);
    join_block();
    write_unit<Multiplied<W>>(p, out, unit, sums[unit & 1][0], kPerWarp, scales);
  }
}

}  // namespace o3::kernels::cuda
