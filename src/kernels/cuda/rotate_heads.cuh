// SPDX-License-Identifier: Apache-2.0
// Heads of 64, 128 or 256 numbers in the registers of a warp: lane l has kWidth of them, from
// kWidth * l on.
#pragma once

#include "kernels/cuda/attention.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/number.cuh"

namespace o3::kernels::cuda {

template <int kWidth>
__device__ void load_numbers(const float* from, float (&to)[kWidth]) {
  if constexpr (kWidth == 2) {
    const float2 two = *reinterpret_cast<const float2*>(from);
    to[0] = two.x;
    to[1] = two.y;
  } else {
#pragma unroll
    for (int i = 0; i < kWidth; i += 4) {
      const float4 four = *reinterpret_cast<const float4*>(from + i);
      to[i] = four.x;
      to[i + 1] = four.y;
      to[i + 2] = four.z;
      to[i + 3] = four.w;
    }
  }
}

template <class T, int kWidth>
__device__ void store_numbers(T* to, const float (&x)[kWidth]) {
  if constexpr (sizeof(T) == 2) {
#pragma unroll
    for (int i = 0; i < kWidth; i += 2) {
      reinterpret_cast<uint32_t*>(to)[i / 2] = pack<T>(x[i], x[i + 1]);
    }
  } else if constexpr (kWidth == 2) {
    const uint32_t four = pack_e4m3(make_float4(x[0], x[1], 0.0F, 0.0F));
    *reinterpret_cast<uint16_t*>(to) = static_cast<uint16_t>(four);
  } else {
#pragma unroll
    for (int i = 0; i < kWidth; i += 4) {
      reinterpret_cast<uint32_t*>(to)[i / 4] =
          pack_e4m3(make_float4(x[i], x[i + 1], x[i + 2], x[i + 3]));
    }
  }
}

// `count` heads of a row from the planes of sums, with scales and biases.
template <int kWidth, int kHeads>
__device__ void load_heads(const RopeAppendArgs& a, int row, int first, int count,
                           float (&x)[kHeads][kWidth]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const long long width = static_cast<long long>(a.heads + 2 * a.kv.kv_heads) * a.kv.head_dim;
  const long long begin = static_cast<long long>(first) * a.kv.head_dim + lane * kWidth;
#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) x[h][i] = 0.0F;
  }
  for (int split = 0; split < a.splits; ++split) {
    const float* from = a.sums + (static_cast<long long>(split) * a.rows + row) * width + begin;
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
      if (h >= count) break;
      float part[kWidth];
      load_numbers(from + h * a.kv.head_dim, part);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) x[h][i] += part[i];
    }
  }
#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
    if (h >= count) break;
    float own[kWidth];
    if (a.scales.rows != nullptr) {
      const float by = a.scales.rows[row];
      load_numbers(a.scales.columns + begin + h * a.kv.head_dim, own);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) x[h][i] *= by * own[i];
    }
    if (a.bias != nullptr) {
      load_numbers(a.bias + begin + h * a.kv.head_dim, own);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) x[h][i] += own[i];
    }
  }
}

// RMS norm of a head; nothing without a weight.
template <int kWidth>
__device__ void norm_head(const RopeAppendArgs& a, const float* weight, float (&x)[kWidth]) {
  if (weight == nullptr) return;
  float squares = 0.0F;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) squares += x[i] * x[i];
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    squares += __shfl_xor_sync(~0U, squares, offset);
  }
  const float by = rsqrtf(squares / static_cast<float>(a.kv.head_dim) + a.eps);
  float own[kWidth];
  load_numbers(weight + static_cast<int>(threadIdx.x) % kWarp * kWidth, own);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) x[i] *= by * own[i];
}

// The angles of a lane's numbers: the same for all heads of a row. rope.dim / 2 is a multiple of
// kWidth and of 4, so that a number's partner lies at the same place of another lane.
template <int kWidth>
class Rotation {
 public:
  __device__ Rotation(const RopeAppendArgs& a, int row) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int pairs = a.rope.dim / 2;
    const int first = lane * kWidth;
    turns_ = first < 2 * pairs;
    if (!turns_) return;
    const long long angles = static_cast<long long>(a.positions[row]) * pairs;
    interleaved_ = a.rope.style == RopeStyle::kInterleaved;
    if (interleaved_) {
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        cos_[i] = a.rope.cos[angles + (first + i) / 2];
        sin_[i] = a.rope.sin[angles + (first + i) / 2];
      }
      return;
    }
    second_ = first >= pairs;
    partner_ = second_ ? lane - pairs / kWidth : lane + pairs / kWidth;
    load_numbers(a.rope.cos + angles + first % pairs, cos_);
    load_numbers(a.rope.sin + angles + first % pairs, sin_);
  }

  // Whole warp.
  __device__ void apply(const RopeAppendArgs& a, float (&x)[kWidth]) const {
    float other[kWidth];
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      const float afar = __shfl_sync(~0U, x[i], partner_);
      other[i] = a.rope.style == RopeStyle::kInterleaved ? x[i ^ 1] : afar;
    }
    if (!turns_) return;
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      const bool second = interleaved_ ? i % 2 != 0 : second_;
      x[i] = x[i] * cos_[i] + (second ? other[i] * sin_[i] : -other[i] * sin_[i]);
    }
  }

 private:
  bool turns_ = false;
  bool interleaved_ = false;
  bool second_ = false;
  int partner_ = 0;
  float cos_[kWidth];
  float sin_[kWidth];
};

}  // namespace o3::kernels::cuda
