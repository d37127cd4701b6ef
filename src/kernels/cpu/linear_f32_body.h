// SPDX-License-Identifier: Apache-2.0
// Products with FP32 activations and sums over a vector type (Vec of math_*.h): plain weights, and
// packed ones dequantised on the fly. Only for ISA files, hence the anonymous namespace.
#pragma once

#include <cstdint>

#include "kernels/cpu/isa_code.h"
#include "kernels/cpu/linear_tile.h"
#include "kernels/cpu/quant_formats.h"

namespace o3::kernels::cpu {
namespace {  // NOLINT: each ISA file must get its own copy

// acc[r] += w * x[r][0]
template <class V, int kRows>
O3_INLINE void add_input(typename V::Reg w, const float* x, int64_t stride, typename V::Reg* acc) {
  O3_UNROLL
  for (int r = 0; r < kRows; ++r) acc[r] = V::fmadd(w, V::set1(x[r * stride]), acc[r]);
}

// Plain types: a register of weights per input.
template <class V>
struct PlainF32 {
  template <int kRows>
  static void add(const LinearTile& t, const uint8_t* record, const float* x,
                  typename V::Reg* acc) {
    const auto* w = reinterpret_cast<const float*>(record);
    for (int64_t i = 0; i < t.in; ++i) {
      add_input<V, kRows>(V::load(w + i * V::kLanes), x + i, t.x_stride, acc);
    }
  }
};
template <class V>
struct PlainF16 {
  template <int kRows>
  static void add(const LinearTile& t, const uint8_t* record, const float* x,
                  typename V::Reg* acc) {
    const auto* w = reinterpret_cast<const uint16_t*>(record);
    for (int64_t i = 0; i < t.in; ++i) {
      add_input<V, kRows>(V::load_half(w + i * V::kLanes), x + i, t.x_stride, acc);
    }
  }
};
template <class V>
struct PlainBF16 {
  template <int kRows>
  static void add(const LinearTile& t, const uint8_t* record, const float* x,
                  typename V::Reg* acc) {
    const auto* w = reinterpret_cast<const uint16_t*>(record);
    for (int64_t i = 0; i < t.in; ++i) {
      add_input<V, kRows>(V::load_bfloat(w + i * V::kLanes), x + i, t.x_stride, acc);
    }
  }
};

// Four inputs held in the bytes of each lane; weight = d * (byte - kBias) + m.
template <class V, int kBias, int kRows>
O3_INLINE void add_word(typename V::Words bytes, typename V::Reg d, typename V::Reg m,
                        const float* x, int64_t stride, typename V::Reg* acc) {
  O3_UNROLL
  for (int t = 0; t < 4; ++t) {
    const auto quant = V::template byte_to_float<kBias>(bytes, t);
    add_input<V, kRows>(V::fmadd(quant, d, m), x + t, stride, acc);
  }
}

// Block formats (quant_formats.h).
template <class V, class Format>
struct Quantized {
  template <int kRows>
  static void add(const LinearTile& t, const uint8_t* record, const float* x,
                  typename V::Reg* acc) {
    for (int64_t b = 0; b < t.in / kBlock; ++b) {
      typename V::Words words[kWords];
      typename V::Reg d[2];
      typename V::Reg m[2];
      Format::words(t.layout, record, b, words);
      Format::scales(t.layout, record, b, d);
      Format::minima(t.layout, record, b, m);
      O3_UNROLL
      for (int j = 0; j < kWords; ++j) {
        const int sub = j * Format::kSubBlocks / kWords;
        add_word<V, Format::kBias, kRows>(words[j], d[sub], m[sub], x + b * kBlock + 4 * j,
                                          t.x_stride, acc);
      }
    }
  }
};

template <class V, class Format, int kRows>
void linear_f32_rows(const LinearTile& t, const uint8_t* record, const float* x, float* y,
                     int64_t outs) {
  typename V::Reg acc[kRows];
  O3_UNROLL
  for (int r = 0; r < kRows; ++r) {
    acc[r] = t.accumulate ? V::load_first(y + r * t.y_stride, outs, 0.0F) : V::zero();
  }
  Format::template add<kRows>(t, record, x, acc);
  O3_UNROLL
  for (int r = 0; r < kRows; ++r) V::store_first(y + r * t.y_stride, outs, acc[r]);
}

// V::kF32Rows rows at a time, then 4, then one.
template <class V, class Format>
void linear_f32_body(const LinearTile& t) {
  for (int64_t g = 0; g < t.groups; ++g) {
    const uint8_t* record = t.weights + g * t.layout.group_bytes;
    const int64_t left = t.outs - g * V::kLanes;
    const int64_t outs = left < V::kLanes ? left : V::kLanes;
    float* y = t.y + g * V::kLanes;
    for (int64_t row = 0; row < t.rows;) {
      const float* x = t.x + row * t.x_stride;
      float* to = y + row * t.y_stride;
      if (t.rows - row >= V::kF32Rows) {
        linear_f32_rows<V, Format, V::kF32Rows>(t, record, x, to, outs);
        row += V::kF32Rows;
      } else if (t.rows - row >= 4) {
        linear_f32_rows<V, Format, 4>(t, record, x, to, outs);
        row += 4;
      } else {
        linear_f32_rows<V, Format, 1>(t, record, x, to, outs);
        row += 1;
      }
    }
  }
}

// The FP32 kernels of an ISA.
template <class V>
struct F32Kernels {
  template <class Format>
  struct Run {
    static void run(const LinearTile& t) { linear_f32_body<V, Quantized<V, Format>>(t); }
  };

  static LinearTileFn of(WeightFormat format) {
    switch (format) {
      case WeightFormat::kF32:
        return linear_f32_body<V, PlainF32<V>>;
      case WeightFormat::kF16:
        return linear_f32_body<V, PlainF16<V>>;
      case WeightFormat::kBF16:
        return linear_f32_body<V, PlainBF16<V>>;
      default:
        return quant_kernel<V, Run>(format);
    }
  }
};

}  // namespace
}  // namespace o3::kernels::cpu
