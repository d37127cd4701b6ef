// SPDX-License-Identifier: Apache-2.0
// AVX2: 8 outputs per register, up to 4 rows at a time. See linear_tile.h for the rule on what this
// file may contain.
#include <immintrin.h>

#include "kernels/cpu/isa_code.h"
#include "kernels/cpu/linear_tile.h"

namespace o3::kernels::cpu::avx2 {
namespace {

constexpr int kLanes = 8;
constexpr int kMaxRows = 4;
constexpr int kBlockInt = static_cast<int>(kBlock);
constexpr int kWords = 8;  // registers of 8 lanes x 4 inputs that make a block

O3_INLINE __m256 load_halves(const uint8_t* at) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
}
O3_INLINE __m256i load_bytes(const uint8_t* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}

// Dot products of one block of 8 outputs with kRows rows of int8, row r at x + r * kBlock; returns
// the sums of the block's quants.

// 4 bits: products of unsigned by signed bytes. A pair's sum is at most 2 * 15 * 127, so eight of
// them fit 16 bits; eight quants fit 8.
template <int kRows>
O3_INLINE __m256i dot_nibbles(const uint8_t* quants, const uint8_t* x, __m256i* dot) {
  const __m256i low = _mm256_set1_epi8(0x0f);
  __m256i words[kWords];
  __m256i total = _mm256_setzero_si256();
  O3_UNROLL
  for (int j = 0; j < kWords / 2; ++j) {
    const __m256i both = load_bytes(quants + 32 * j);
    words[j] = _mm256_and_si256(both, low);
    words[j + kWords / 2] = _mm256_and_si256(_mm256_srli_epi16(both, 4), low);
    total = _mm256_add_epi8(total, _mm256_add_epi8(words[j], words[j + kWords / 2]));
  }
  O3_UNROLL
  for (int r = 0; r < kRows; ++r) {
    const auto* q = reinterpret_cast<const int32_t*>(x + r * kBlock);
    __m256i pairs = _mm256_setzero_si256();
    O3_UNROLL
    for (int j = 0; j < kWords; ++j) {
      const __m256i product = _mm256_maddubs_epi16(words[j], _mm256_set1_epi32(q[j]));
      pairs = _mm256_add_epi16(pairs, product);
    }
    dot[r] = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
  }
  return _mm256_madd_epi16(_mm256_maddubs_epi16(total, _mm256_set1_epi8(1)), _mm256_set1_epi16(1));
}

// 8 bits: |w| times x with w's sign; a pair's sum is at most 2 * 128 * 127 and fits 16 bits.
template <int kRows>
O3_INLINE __m256i dot_bytes(const uint8_t* quants, const uint8_t* x, __m256i* dot) {
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i total = _mm256_setzero_si256();  // eight pairs fit 16 bits
  O3_UNROLL
  for (int r = 0; r < kRows; ++r) dot[r] = _mm256_setzero_si256();
  O3_UNROLL
  for (int j = 0; j < kWords; ++j) {
    const __m256i w = load_bytes(quants + 32 * j);
    const __m256i magnitude = _mm256_abs_epi8(w);
    total = _mm256_add_epi16(total, _mm256_maddubs_epi16(_mm256_set1_epi8(1), w));
    O3_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const auto* q = reinterpret_cast<const int32_t*>(x + r * kBlock);
      const __m256i value = _mm256_sign_epi8(_mm256_set1_epi32(q[j]), w);
      const __m256i pairs = _mm256_maddubs_epi16(magnitude, value);
      dot[r] = _mm256_add_epi32(dot[r], _mm256_madd_epi16(pairs, ones));
    }
  }
  return _mm256_madd_epi16(total, ones);
}

// weight = d * (quant - kBias) + m
struct Nibbles0 {  // Q4_0
  static constexpr int64_t kQuants = 16;
  static constexpr int kRecordBytes = kLanes * 18;
  static constexpr int kBias = 8;
  static constexpr bool kMinimum = false;
  template <int kRows>
  O3_INLINE static __m256i dot(const uint8_t* quants, const uint8_t* x, __m256i* to) {
    return dot_nibbles<kRows>(quants, x, to);
  }
};
struct Nibbles1 : Nibbles0 {  // Q4_1
  static constexpr int kRecordBytes = kLanes * 20;
  static constexpr int kBias = 0;
  static constexpr bool kMinimum = true;
};
struct Bytes8 {  // Q8_0
  static constexpr int64_t kQuants = 32;
  static constexpr int kRecordBytes = kLanes * 34;
  static constexpr int kBias = 0;
  static constexpr bool kMinimum = false;
  template <int kRows>
  O3_INLINE static __m256i dot(const uint8_t* quants, const uint8_t* x, __m256i* to) {
    return dot_bytes<kRows>(quants, x, to);
  }
};

__m256i mask_of(int64_t outs) {
  const __m256i lane = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int32_t>(outs)), lane);
}

template <class Format, int kHeight, int kRows>
void run_rows(const LinearTile& t, const uint8_t* record, const uint8_t* x, int64_t first_row,
              float* y, __m256i outs) {
  __m256 acc[kRows];
  O3_UNROLL
  for (int r = 0; r < kRows; ++r) {
    acc[r] = t.accumulate ? _mm256_maskload_ps(y + r * t.y_stride, outs) : _mm256_setzero_ps();
  }
  for (int64_t b = 0; b < t.in / kBlock; ++b, x += kHeight * kQuantBytes) {
    __m256i dot[kRows];
    if (kHeight == 1) {
      prefetch<Format::kRecordBytes>(record + b * Format::kRecordBytes + kPrefetchAhead);
    }
    __m256i quants = Format::template dot<kRows>(record + b * (kLanes * Format::kQuants),
                                                 x + first_row * kBlock, dot);
    if (Format::kBias != 0) {
      quants = _mm256_sub_epi32(quants, _mm256_set1_epi32(Format::kBias * kBlockInt));
    }
    const __m256 total = _mm256_cvtepi32_ps(quants);
    const __m256 d = load_halves(record + t.layout.d_offset + b * (kLanes * 2));
    const auto* scales = reinterpret_cast<const float*>(x + kHeight * kScaleAt) + first_row;
    O3_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const float* scale = scales + r;
      const float* center = scale + kHeight;
      const float* sum = scale + 2 * kHeight;
      const auto* isum = reinterpret_cast<const int32_t*>(scale + 3 * kHeight);
      if (Format::kBias != 0) {
        dot[r] = _mm256_sub_epi32(dot[r], _mm256_set1_epi32(Format::kBias * *isum));
      }
      const __m256 shifted = _mm256_mul_ps(total, _mm256_set1_ps(*center));
      const __m256 product =
          _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot[r]), _mm256_set1_ps(*scale), shifted);
      acc[r] = _mm256_fmadd_ps(d, product, acc[r]);
      if (Format::kMinimum) {
        const __m256 m = load_halves(record + t.layout.m_offset + b * (kLanes * 2));
        acc[r] = _mm256_fmadd_ps(m, _mm256_set1_ps(*sum), acc[r]);
      }
    }
  }
  O3_UNROLL
  for (int r = 0; r < kRows; ++r) _mm256_maskstore_ps(y + r * t.y_stride, outs, acc[r]);
}

template <class Format>
void run(const LinearTile& t) {
  const int64_t panel_bytes = t.in / kBlock * kPanel * kQuantBytes;
  for (int64_t g = 0; g < t.groups; ++g) {
    const uint8_t* record = t.weights + g * t.layout.group_bytes;
    const __m256i outs = mask_of(t.outs - g * kLanes);
    float* y = t.y + g * kLanes;
    if (t.xq.height == 1) {
      run_rows<Format, 1, 1>(t, record, t.xq.data, 0, y, outs);
      continue;
    }
    for (int64_t row = 0; row < t.rows; row += kMaxRows, y += kMaxRows * t.y_stride) {
      const uint8_t* x = t.xq.data + row / kPanel * panel_bytes;
      const int64_t at = row % kPanel;
      switch (t.rows - row) {
        case 1:
          run_rows<Format, kPanel, 1>(t, record, x, at, y, outs);
          break;
        case 2:
          run_rows<Format, kPanel, 2>(t, record, x, at, y, outs);
          break;
        case 3:
          run_rows<Format, kPanel, 3>(t, record, x, at, y, outs);
          break;
        default:
          run_rows<Format, kPanel, 4>(t, record, x, at, y, outs);
          break;
      }
    }
  }
}

int32_t sum_lanes(__m256i v) {
  __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}

float largest_lane(__m256 v) {
  __m128 m = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  m = _mm_max_ps(m, _mm_movehl_ps(m, m));
  return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}

float least_lane(__m256 v) {
  __m128 m = _mm_min_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  m = _mm_min_ps(m, _mm_movehl_ps(m, m));
  return _mm_cvtss_f32(_mm_min_ss(m, _mm_movehdup_ps(m)));
}

}  // namespace

void linear_q4_0(const LinearTile& tile) {
  run<Nibbles0>(tile);
}
void linear_q4_1(const LinearTile& tile) {
  run<Nibbles1>(tile);
}
void linear_q8_0(const LinearTile& tile) {
  run<Bytes8>(tile);
}

void quantize_row(const float* x, int64_t in, const QuantRows& panel, int64_t row) {
  const int64_t height = panel.height;
  for (int64_t b = 0; b < in / kBlock; ++b) {
    uint8_t* record = panel.data + b * height * kQuantBytes;
    __m256 v[4];
    O3_UNROLL
    for (int i = 0; i < 4; ++i) v[i] = _mm256_loadu_ps(x + b * kBlock + kLanes * i);
    const float most =
        largest_lane(_mm256_max_ps(_mm256_max_ps(v[0], v[1]), _mm256_max_ps(v[2], v[3])));
    const float least =
        least_lane(_mm256_min_ps(_mm256_min_ps(v[0], v[1]), _mm256_min_ps(v[2], v[3])));
    const float center = 0.5F * most + 0.5F * least;
    const float span = 0.5F * most - 0.5F * least;
    const bool constant = span < kTinySpan;
    const float scale = constant ? 0.0F : span / 127.0F;
    const __m256 inverse = _mm256_set1_ps(constant ? 0.0F : 127.0F / span);
    __m256i q[4];
    O3_UNROLL
    for (int i = 0; i < 4; ++i) {
      const __m256 offset = _mm256_sub_ps(v[i], _mm256_set1_ps(center));
      q[i] = _mm256_cvtps_epi32(_mm256_mul_ps(offset, inverse));
    }
    const __m256i total =
        _mm256_add_epi32(_mm256_add_epi32(q[0], q[1]), _mm256_add_epi32(q[2], q[3]));
    const int32_t isum = sum_lanes(total);
    // Packing works within 128-bit halves; the permutation puts dwords back in order.
    const __m256i words =
        _mm256_packs_epi16(_mm256_packs_epi32(q[0], q[1]), _mm256_packs_epi32(q[2], q[3]));
    const __m256i order = _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(record + row * kBlock),
                        _mm256_permutevar8x32_epi32(words, order));
    auto* of_row = reinterpret_cast<float*>(record + height * kScaleAt) + row;
    of_row[0] = scale;
    of_row[height] = center;
    of_row[2 * height] = scale * static_cast<float>(isum) + static_cast<float>(kBlock) * center;
    reinterpret_cast<int32_t*>(of_row)[3 * height] = isum;
  }
}

}  // namespace o3::kernels::cpu::avx2
