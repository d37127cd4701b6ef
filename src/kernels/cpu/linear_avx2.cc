// SPDX-License-Identifier: Apache-2.0
// AVX2: 8 outputs per register, up to 4 rows at a time. See linear_tile.h for the rule on what this
// file may contain.
#include <immintrin.h>

#include "kernels/cpu/isa_code.h"
#include "kernels/cpu/linear_tile.h"
#include "kernels/cpu/math_avx2.h"
#include "kernels/cpu/quant_formats.h"

namespace o3::kernels::cpu::avx2 {
namespace {

constexpr int kLanes = 8;

// Dot products of kCount words with one row of int8, as int32; and the sums of the words.

// Weights unsigned, at most kMost: a pair's sum of products is at most 2 * kMost * 127, and as many
// pairs are added in 16 bits as fit.
template <int kMost, int kCount>
O3_INLINE __m256i dot_unsigned(const __m256i* words, const int32_t* q) {
  constexpr int kPairs = 32767 / (2 * kMost * 127);
  constexpr int kRun = kPairs < kCount ? kPairs : kCount;
  static_assert(kRun >= 1 && kCount % kRun == 0);
  __m256i dot = _mm256_setzero_si256();
  O3_UNROLL
  for (int first = 0; first < kCount; first += kRun) {
    __m256i pairs = _mm256_maddubs_epi16(words[first], _mm256_set1_epi32(q[first]));
    O3_UNROLL
    for (int j = first + 1; j < first + kRun; ++j) {
      pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16(words[j], _mm256_set1_epi32(q[j])));
    }
    dot = _mm256_add_epi32(dot, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  return dot;
}
template <int kMost, int kCount>
O3_INLINE __m256i sum_unsigned(const __m256i* words) {
  static_assert(kCount * kMost < 256);
  __m256i sum = words[0];
  O3_UNROLL
  for (int j = 1; j < kCount; ++j) sum = _mm256_add_epi8(sum, words[j]);
  return _mm256_madd_epi16(_mm256_maddubs_epi16(sum, _mm256_set1_epi8(1)), _mm256_set1_epi16(1));
}

// Weights signed: |w| times x with w's sign; a pair's sum is at most 2 * 128 * 127 and fits 16
// bits.
template <int kCount>
O3_INLINE __m256i dot_signed(const __m256i* words, const int32_t* q) {
  __m256i dot = _mm256_setzero_si256();
  O3_UNROLL
  for (int j = 0; j < kCount; ++j) {
    const __m256i value = _mm256_sign_epi8(_mm256_set1_epi32(q[j]), words[j]);
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(words[j]), value);
    dot = _mm256_add_epi32(dot, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  return dot;
}
template <int kCount>
O3_INLINE __m256i sum_signed(const __m256i* words) {
  __m256i sum = _mm256_setzero_si256();  // eight pairs fit 16 bits
  O3_UNROLL
  for (int j = 0; j < kCount; ++j) {
    sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(_mm256_set1_epi8(1), words[j]));
  }
  return _mm256_madd_epi16(sum, _mm256_set1_epi16(1));
}

// One block of 8 outputs; see the blocks of linear_vnni_body.h.
template <class Format>
struct Block {
  __m256i words[kWords];  // signed where kSigned, else with their bias
  __m256 total;
  __m256 d[2];
  __m256 m[1];
  __m256i min_pairs;
};

template <class Format>
struct Integers {
  static constexpr bool kSigned = Format::kMost > 127;
  static constexpr int kBias = kSigned ? 0 : Format::kBias;
  static constexpr int kCount = kWords / Format::kSubBlocks;  // words per sub-block

  O3_INLINE static __m256i dot(const __m256i* words, const int32_t* q) {
    if constexpr (kSigned) return dot_signed<kCount>(words, q);
    if constexpr (!kSigned) return dot_unsigned<Format::kMost, kCount>(words, q);
  }
  O3_INLINE static __m256 sum(const __m256i* words) {
    __m256i sum;
    if constexpr (kSigned) sum = sum_signed<kCount>(words);
    if constexpr (!kSigned) sum = sum_unsigned<Format::kMost, kCount>(words);
    return _mm256_cvtepi32_ps(_mm256_sub_epi32(sum, _mm256_set1_epi32(kBias * 4 * kCount)));
  }
};

template <class Format>
O3_INLINE void unpack(const LinearTile& t, const uint8_t* record, int64_t b, Block<Format>& block) {
  using Ints = Integers<Format>;
  Format::words(t.layout, record, b, block.words);
  if constexpr (Ints::kSigned) {
    static_assert(Format::kBias == 128);
    O3_UNROLL
    for (int j = 0; j < kWords; ++j) {
      block.words[j] = _mm256_xor_si256(block.words[j], _mm256_set1_epi8(-128));
    }
  }
  Format::scales(t.layout, record, b, block.d);
  block.total = Ints::sum(block.words);
  if constexpr (Format::kSubBlocks == 1) {
    Format::minima(t.layout, record, b, block.m);
  } else {
    const __m256 second = Ints::sum(block.words + Ints::kCount);
    block.total = _mm256_fmadd_ps(block.d[1], second, _mm256_mul_ps(block.d[0], block.total));
    if constexpr (Format::kMinimum) {
      block.min_pairs = Format::min_pairs(t.layout, record, b);
      block.m[0] = _mm256_sub_ps(_mm256_setzero_ps(), Format::load_m(t.layout, record, b));
      const __m256i sum = _mm256_madd_epi16(block.min_pairs, _mm256_set1_epi16(kBlock / 2));
      block.total = _mm256_fmadd_ps(block.m[0], _mm256_cvtepi32_ps(sum), block.total);
    }
  }
}

// The dot product of sub-block kSub less what the bias adds to it; isums: the row's two sums.
template <class Format, int kSub>
O3_INLINE __m256 dot_block(const Block<Format>& block, const int32_t* q, const int32_t* isums) {
  using Ints = Integers<Format>;
  __m256i dot = Ints::dot(block.words + kSub * Ints::kCount, q + kSub * Ints::kCount);
  if constexpr (Ints::kBias != 0) {
    constexpr int kFirst = Format::kSubBlocks == 2 && kSub == 1 ? 0 : Ints::kBias;
    constexpr int kSecond = Format::kSubBlocks == 2 && kSub == 0 ? 0 : Ints::kBias;
    const __m256i bias = _mm256_set1_epi32(kSecond * 65536 + kFirst);
    dot = _mm256_sub_epi32(dot, _mm256_madd_epi16(_mm256_set1_epi32(*isums), bias));
  }
  return _mm256_cvtepi32_ps(dot);
}

// acc += one row's part of a block. `scale` points at the row's scale.
template <class Format, int kHeight>
O3_INLINE void add_block(const Block<Format>& block, const int32_t* q, const float* scale,
                         __m256& acc) {
  const auto* isums = reinterpret_cast<const int32_t*>(scale + 3 * kHeight);
  const __m256 factor = _mm256_set1_ps(*scale);
  const __m256 center = _mm256_set1_ps(scale[kHeight]);
  const __m256 dot = dot_block<Format, 0>(block, q, isums);
  if constexpr (Format::kSubBlocks == 1) {
    const __m256 product = _mm256_fmadd_ps(dot, factor, _mm256_mul_ps(block.total, center));
    acc = _mm256_fmadd_ps(block.d[0], product, acc);
    if constexpr (Format::kMinimum) {
      acc = _mm256_fmadd_ps(block.m[0], _mm256_set1_ps(scale[2 * kHeight]), acc);
    }
  } else {
    __m256 product = _mm256_mul_ps(dot_block<Format, 1>(block, q, isums), block.d[1]);
    if constexpr (Format::kMinimum) {
      const __m256i sum = _mm256_madd_epi16(block.min_pairs, _mm256_set1_epi32(*isums));
      product = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), block.m[0], product);
    }
    product = _mm256_fmadd_ps(dot, block.d[0], product);
    acc = _mm256_fmadd_ps(product, factor, acc);
    acc = _mm256_fmadd_ps(block.total, center, acc);
  }
}

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
    if (kHeight == 1) {
      prefetch<Format::kRecordBytes>(record + b * Format::kRecordBytes + kPrefetchAhead);
    }
    Block<Format> block;
    unpack<Format>(t, record, b, block);
    const auto* scales = reinterpret_cast<const float*>(x + kHeight * kScaleAt) + first_row;
    O3_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const auto* q = reinterpret_cast<const int32_t*>(x + (first_row + r) * kBlock);
      add_block<Format, kHeight>(block, q, scales + r, acc[r]);
    }
  }
  O3_UNROLL
  for (int r = 0; r < kRows; ++r) _mm256_maskstore_ps(y + r * t.y_stride, outs, acc[r]);
}

template <class Format>
void run_tile(const LinearTile& t) {
  const int64_t panel_bytes = t.in / kBlock * kPanel * kQuantBytes;
  for (int64_t g = 0; g < t.groups; ++g) {
    const uint8_t* record = t.weights + g * t.layout.group_bytes;
    const __m256i outs = mask_of(t.outs - g * kLanes);
    float* y = t.y + g * kLanes;
    if (t.xq.height == 1) {
      run_rows<Format, 1, 1>(t, record, t.xq.data, 0, y, outs);
      continue;
    }
    for (int64_t row = 0; row < t.rows;) {
      const int64_t left = t.rows - row;
      const int64_t in_panel = kPanel - row % kPanel;
      const int64_t most = left < in_panel ? left : in_panel;
      const int64_t count = most >= 4 ? 4 : most >= 2 ? 2 : 1;
      const uint8_t* x = t.xq.data + row / kPanel * panel_bytes;
      float* to = y + row * t.y_stride;
      if (count == 4) run_rows<Format, kPanel, 4>(t, record, x, row % kPanel, to, outs);
      if (count == 2) run_rows<Format, kPanel, 2>(t, record, x, row % kPanel, to, outs);
      if (count == 1) run_rows<Format, kPanel, 1>(t, record, x, row % kPanel, to, outs);
      row += count;
    }
  }
}

template <class Format>
struct Int8Kernel {
  static void run(const LinearTile& tile) { run_tile<Format>(tile); }
};

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

LinearTileFn int8_kernel(WeightFormat format) {
  return quant_kernel<Vec, Int8Kernel>(format);
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
    const int32_t first = sum_lanes(_mm256_add_epi32(q[0], q[1]));
    const int32_t second = sum_lanes(_mm256_add_epi32(q[2], q[3]));
    // Packing works within 128-bit halves; the permutation puts dwords back in order.
    const __m256i words =
        _mm256_packs_epi16(_mm256_packs_epi32(q[0], q[1]), _mm256_packs_epi32(q[2], q[3]));
    const __m256i order = _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(record + row * kBlock),
                        _mm256_permutevar8x32_epi32(words, order));
    auto* of_row = reinterpret_cast<float*>(record + height * kScaleAt) + row;
    of_row[0] = scale;
    of_row[height] = center;
    of_row[2 * height] =
        scale * static_cast<float>(first + second) + static_cast<float>(kBlock) * center;
    auto* isums = reinterpret_cast<int16_t*>(of_row + 3 * height);
    isums[0] = static_cast<int16_t>(first);
    isums[1] = static_cast<int16_t>(second);
  }
}

}  // namespace o3::kernels::cpu::avx2
