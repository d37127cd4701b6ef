// SPDX-License-Identifier: Apache-2.0
// A stage of weights in shared memory, 16 rows by 2 KB, and its product with the rows of x that a
// warp keeps in registers.
#pragma once

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/number.cuh"
#include "kernels/cuda/skinny.h"

namespace o3::kernels::cuda {

inline constexpr int kRingWarps = 8;
inline constexpr int kRingThreads = kRingWarps * kWarp;  // that multiply
inline constexpr int kCopyWarps = 4;                     // a warpgroup
inline constexpr int kBlockThreads = kRingThreads + kCopyWarps * kWarp;
inline constexpr int kTile = 16;                              // rows of w in a stage
inline constexpr int kChunkBytes = 2048;                      // of a row of w in a stage
inline constexpr int kSteps = kChunkBytes / kRingWarps / 64;  // of 64 bytes, per warp and stage
// A quarter warp reads two rows of w at once: 64 bytes more per row keep them in different banks.
inline constexpr int kRowBytes = kChunkBytes + 64;
inline constexpr int kStageBytes = kTile * kRowBytes;
inline constexpr int kCopyRows = kTile / kCopyWarps;  // of a stage, per copying warp

// How many columns those bytes are, for weights of type W.
template <class W>
struct Columns {
  static constexpr int kChunk = kChunkBytes / static_cast<int>(sizeof(W));
  static constexpr int kChunks = kSkinnySplit / kChunk;  // of one tile
  static constexpr int kStep = 64 / static_cast<int>(sizeof(W));
  static constexpr int kLane = kStep / 4;  // of a step, next to each other
};

// What a warp keeps of x: 16-bit numbers for the columns that the lane has of w, of row g, and of
// row g + 8 when kHigh.
inline constexpr int kXVectors = kSkinnySplit / kRingWarps / 32;
template <bool kHigh>
struct XShare {
  uint4 low[kXVectors];
  uint4 high[kHigh ? kXVectors : 1];
};

// The columns [begin, begin + columns) of x[rows, stride] (16-bit numbers, at any memory that
// `load` reads 16 bytes of).
template <class W, bool kHigh, class Load>
__device__ void load_x(const char* x, long long stride_bytes, int rows, int begin, int columns,
                       XShare<kHigh>& to, const Load& load) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int g = static_cast<int>(threadIdx.x) % kWarp / 4;
  const int t = static_cast<int>(threadIdx.x) % 4;
  using C = Columns<W>;
  constexpr int kVectors = C::kLane / 8;  // of a step
#pragma unroll
  for (int i = 0; i < kXVectors; ++i) {
    const int step = i / kVectors;
    const int column = step / kSteps * C::kChunk + (warp * kSteps + step % kSteps) * C::kStep +
                       t * C::kLane + i % kVectors * 8;
    const char* at = x + g * stride_bytes + (begin + column) * 2LL;
    const uint4 zero = make_uint4(0, 0, 0, 0);
    to.low[i] = column < columns && g < rows ? load(at) : zero;
    if constexpr (kHigh) {
      to.high[i] = column < columns && g + 8 < rows ? load(at + 8 * stride_bytes) : zero;
    }
  }
}
struct LoadL2 {
  __device__ uint4 operator()(const char* at) const {
    return __ldcg(reinterpret_cast<const uint4*>(at));
  }
};

// The sums of a tile: rows of w (16) by rows of x, in two halves that do not wait for each other.
template <bool kHigh>
struct TileSums {
  static constexpr int kBlocks = kHigh ? 2 : 1;  // of 8 rows of x
  float even[kBlocks][4];
  float odd[kBlocks][4];

  __device__ TileSums() {
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
      for (int i = 0; i < 4; ++i) even[b][i] = odd[b][i] = 0.0F;
    }
  }
  // To warp's shared memory, [row of x][row of w].
  __device__ void leave(float* to) const {
    const int g = static_cast<int>(threadIdx.x) % kWarp / 4;
    const int t = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        to[(b * 8 + 2 * t + i % 2) * kTile + g + i / 2 * 8] = even[b][i] + odd[b][i];
      }
    }
  }
};

// The i-th eight columns of a lane: low and high, of rows g and g + 8 of w.
template <class T, bool kHigh>
__device__ void multiply_eight(const XShare<kHigh>& x, int i, const uint32_t (&low)[4],
                               const uint32_t (&high)[4], TileSums<kHigh>& sums) {
  const uint32_t a[4] = {low[0], high[0], low[1], high[1]};
  const uint32_t b[4] = {low[2], high[2], low[3], high[3]};
  multiply<T>(sums.even[0], a, x.low[i].x, x.low[i].y);
  multiply<T>(sums.odd[0], b, x.low[i].z, x.low[i].w);
  if constexpr (kHigh) {
    multiply<T>(sums.even[1], a, x.high[i].x, x.high[i].y);
    multiply<T>(sums.odd[1], b, x.high[i].z, x.high[i].w);
  }
}
template <class W, bool kHigh>
__device__ void multiply_step(const XShare<kHigh>& x, int step, const uint4& low, const uint4& high,
                              TileSums<kHigh>& sums) {
  using T = Multiplied<W>;
  if constexpr (sizeof(W) == 1) {
    const uint32_t from[2][4] = {{low.x, low.y, low.z, low.w}, {high.x, high.y, high.z, high.w}};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      uint32_t wide[2][4];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        widen(from[r][2 * half], wide[r][0], wide[r][1]);
        widen(from[r][2 * half + 1], wide[r][2], wide[r][3]);
      }
      multiply_eight<T>(x, 2 * step + half, wide[0], wide[1], sums);
    }
  } else {
    const uint32_t rows[2][4] = {{low.x, low.y, low.z, low.w}, {high.x, high.y, high.z, high.w}};
    multiply_eight<T>(x, step, rows[0], rows[1], sums);
  }
}

}  // namespace o3::kernels::cuda
