// SPDX-License-Identifier: Apache-2.0
// AVX-512 with FP32 activations and sums: plain weights, and packed ones dequantised on the fly.
// 16 outputs per register, up to 12 rows at a time. See linear_tile.h for the rule on what this
// file may contain.
#include <immintrin.h>

#include "kernels/cpu/isa_code.h"
#include "kernels/cpu/linear_tile.h"

namespace o3::kernels::cpu::avx512 {
namespace {

constexpr int kLanes = 16;
constexpr int kMaxRows = 12;

O3_INLINE __m512 load_halves(const uint8_t* at) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
}

// acc[r] += w * x[r][0]
template <int kRows>
O3_INLINE void add_input(__m512 w, const float* x, int64_t stride, __m512* acc) {
  O3_UNROLL
  for (int r = 0; r < kRows; ++r) {
    acc[r] = _mm512_fmadd_ps(w, _mm512_set1_ps(x[r * stride]), acc[r]);
  }
}

// Plain types: a register of weights per input.
struct F32 {
  template <int kRows>
  O3_INLINE static void add(const LinearTile& t, const uint8_t* record, const float* x,
                            __m512* acc) {
    for (int64_t i = 0; i < t.in; ++i) {
      const __m512 w = _mm512_loadu_ps(record + i * (kLanes * 4));
      add_input<kRows>(w, x + i, t.x_stride, acc);
    }
  }
};
struct F16 {
  template <int kRows>
  O3_INLINE static void add(const LinearTile& t, const uint8_t* record, const float* x,
                            __m512* acc) {
    for (int64_t i = 0; i < t.in; ++i) {
      add_input<kRows>(load_halves(record + i * (kLanes * 2)), x + i, t.x_stride, acc);
    }
  }
};
struct BF16 {
  template <int kRows>
  O3_INLINE static void add(const LinearTile& t, const uint8_t* record, const float* x,
                            __m512* acc) {
    for (int64_t i = 0; i < t.in; ++i) {
      const auto* at = reinterpret_cast<const __m256i*>(record + i * (kLanes * 2));
      const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(at));
      const __m512 w = _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
      add_input<kRows>(w, x + i, t.x_stride, acc);
    }
  }
};

// Four inputs held in the bytes of one register, weight = d * (byte - kBias) + m.
template <int kBias, int kRows>
O3_INLINE void add_word(__m512i bytes, __m512 d, __m512 m, const float* x, int64_t stride,
                        __m512* acc) {
  O3_UNROLL
  for (int t = 0; t < 4; ++t) {
    const __m512i byte = _mm512_and_si512(_mm512_srli_epi32(bytes, static_cast<unsigned>(8 * t)),
                                          _mm512_set1_epi32(0xff));
    const __m512i quant = kBias == 0 ? byte : _mm512_sub_epi32(byte, _mm512_set1_epi32(kBias));
    add_input<kRows>(_mm512_fmadd_ps(_mm512_cvtepi32_ps(quant), d, m), x + t, stride, acc);
  }
}

template <int kBias, int kRows>
O3_INLINE void add_nibbles(const uint8_t* quants, __m512 d, __m512 m, const float* x,
                           int64_t stride, __m512* acc) {
  const __m512i low = _mm512_set1_epi8(0x0f);
  O3_UNROLL
  for (int j = 0; j < 4; ++j) {
    const __m512i word = _mm512_and_si512(_mm512_loadu_si512(quants + 64 * j), low);
    add_word<kBias, kRows>(word, d, m, x + 4 * j, stride, acc);
  }
  O3_UNROLL
  for (int j = 0; j < 4; ++j) {
    const __m512i both = _mm512_loadu_si512(quants + 64 * j);
    const __m512i word = _mm512_and_si512(_mm512_srli_epi16(both, 4), low);
    add_word<kBias, kRows>(word, d, m, x + 16 + 4 * j, stride, acc);
  }
}

struct Q4_0 {
  template <int kRows>
  O3_INLINE static void add(const LinearTile& t, const uint8_t* record, const float* x,
                            __m512* acc) {
    for (int64_t b = 0; b < t.in / kBlock; ++b) {
      const __m512 d = load_halves(record + t.layout.d_offset + b * (kLanes * 2));
      add_nibbles<8, kRows>(record + b * (kLanes * 16), d, _mm512_setzero_ps(), x + b * kBlock,
                            t.x_stride, acc);
    }
  }
};
struct Q4_1 {
  template <int kRows>
  O3_INLINE static void add(const LinearTile& t, const uint8_t* record, const float* x,
                            __m512* acc) {
    for (int64_t b = 0; b < t.in / kBlock; ++b) {
      const __m512 d = load_halves(record + t.layout.d_offset + b * (kLanes * 2));
      const __m512 m = load_halves(record + t.layout.m_offset + b * (kLanes * 2));
      add_nibbles<0, kRows>(record + b * (kLanes * 16), d, m, x + b * kBlock, t.x_stride, acc);
    }
  }
};
struct Q8_0 {  // packed with a bias of 128
  template <int kRows>
  O3_INLINE static void add(const LinearTile& t, const uint8_t* record, const float* x,
                            __m512* acc) {
    for (int64_t b = 0; b < t.in / kBlock; ++b) {
      const __m512 d = load_halves(record + t.layout.d_offset + b * (kLanes * 2));
      O3_UNROLL
      for (int j = 0; j < 8; ++j) {
        const __m512i word = _mm512_loadu_si512(record + b * (kLanes * 32) + 64 * j);
        add_word<128, kRows>(word, d, _mm512_setzero_ps(), x + b * kBlock + 4 * j, t.x_stride, acc);
      }
    }
  }
};

template <class Format, int kRows>
void run_rows(const LinearTile& t, const uint8_t* record, const float* x, float* y,
              __mmask16 outs) {
  __m512 acc[kRows];
  O3_UNROLL
  for (int r = 0; r < kRows; ++r) {
    acc[r] = t.accumulate ? _mm512_maskz_loadu_ps(outs, y + r * t.y_stride) : _mm512_setzero_ps();
  }
  Format::template add<kRows>(t, record, x, acc);
  O3_UNROLL
  for (int r = 0; r < kRows; ++r) _mm512_mask_storeu_ps(y + r * t.y_stride, outs, acc[r]);
}

template <class Format>
void run(const LinearTile& t) {
  for (int64_t g = 0; g < t.groups; ++g) {
    const uint8_t* record = t.weights + g * t.layout.group_bytes;
    const int64_t outs = t.outs - g * kLanes;
    const auto mask = static_cast<__mmask16>(outs >= kLanes ? 0xffffU : (1U << outs) - 1U);
    const float* x = t.x;
    float* y = t.y + g * kLanes;
    int64_t rows = t.rows;
    for (; rows >= kMaxRows; rows -= kMaxRows) {
      run_rows<Format, kMaxRows>(t, record, x, y, mask);
      x += kMaxRows * t.x_stride;
      y += kMaxRows * t.y_stride;
    }
    for (; rows >= 4; rows -= 4) {
      run_rows<Format, 4>(t, record, x, y, mask);
      x += 4 * t.x_stride;
      y += 4 * t.y_stride;
    }
    for (; rows > 0; --rows) {
      run_rows<Format, 1>(t, record, x, y, mask);
      x += t.x_stride;
      y += t.y_stride;
    }
  }
}

}  // namespace

void linear_f32(const LinearTile& tile) {
  run<F32>(tile);
}
void linear_f16(const LinearTile& tile) {
  run<F16>(tile);
}
void linear_bf16(const LinearTile& tile) {
  run<BF16>(tile);
}
void linear_q4_0_f32(const LinearTile& tile) {
  run<Q4_0>(tile);
}
void linear_q4_1_f32(const LinearTile& tile) {
  run<Q4_1>(tile);
}
void linear_q8_0_f32(const LinearTile& tile) {
  run<Q8_0>(tile);
}

}  // namespace o3::kernels::cpu::avx512
