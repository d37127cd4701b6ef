// SPDX-License-Identifier: Apache-2.0
// AVX-512. Keys are turned so that 16 tokens lie side by side: a score then is one chain of
// multiply-adds over the head's dimensions, in every batch the same. See linear_tile.h for the
// rule on what this file may contain.
#include <immintrin.h>

#include "kernels/cpu/attention_tile.h"
#include "kernels/cpu/isa_code.h"
#include "kernels/cpu/math_avx512.h"

namespace o3::kernels::cpu::avx512 {
namespace {

constexpr int32_t kLanes = 16;
constexpr int kMaxVectors = 6;  // vectors per pass: 6 x 4 sums, 4 values, 1 factor in registers
constexpr int32_t kValueWidth = 64;  // dimensions of V per pass
constexpr float kNothing = -__builtin_inff();

int32_t smaller(int32_t a, int32_t b) {
  return a < b ? a : b;
}
int32_t larger(int32_t a, int32_t b) {
  return a > b ? a : b;
}

const uint8_t* slot_data(const AttnTile& t, const uint8_t* base, int32_t slot) {
  const int64_t page = t.table[slot / t.page_tokens];
  const int64_t row = static_cast<int64_t>(slot % t.page_tokens) * t.head_dim;
  return base + page * t.page_bytes + row * (t.half ? 2 : 4);
}

// Tokens [low, high) of 16 consecutive ones; the others become zeros and are not read.
struct Tokens {
  const uint8_t* first_row;
  int64_t row_bytes;
  int32_t low;
  int32_t high;
};

O3_INLINE __m512i load_words(const Tokens& tokens, int32_t token, int32_t dim, __mmask32 mask) {
  if (token < tokens.low || token >= tokens.high) return _mm512_setzero_si512();
  return _mm512_maskz_loadu_epi16(mask, tokens.first_row + token * tokens.row_bytes + 2 * dim);
}

// Dimensions [dim, dim + dims), dims being 16 or 32, of 16 tokens of F16: out[d] = the tokens'
// values of dimension dim + d as F32, rows kKeyTokens apart.
void turn_halves(const Tokens& tokens, int32_t dim, int32_t dims, float* out) {
  constexpr int64_t stride = kKeyTokens;
  const __mmask32 mask = dims >= 32 ? 0xffffffffU : 0xffffU;
  // Word pairs: dword i of lo/hi holds tokens (2p, 2p+1) of one dimension.
  __m512i lo[8];
  __m512i hi[8];
  O3_UNROLL
  for (int p = 0; p < 8; ++p) {
    const __m512i a = load_words(tokens, 2 * p, dim, mask);
    const __m512i b = load_words(tokens, 2 * p + 1, dim, mask);
    lo[p] = _mm512_unpacklo_epi16(a, b);  // lane l: dimensions 8l .. 8l+3
    hi[p] = _mm512_unpackhi_epi16(a, b);  // lane l: dimensions 8l+4 .. 8l+7
  }
  O3_UNROLL
  for (int part = 0; part < 2; ++part) {
    const __m512i* in = part == 0 ? lo : hi;
    // quad[q][c], lane l: dimension 8l + 4 part + c, tokens 8q .. 8q+7
    __m512i quad[2][4];
    O3_UNROLL
    for (int q = 0; q < 2; ++q) {
      const __m512i* four = in + 4 * q;
      const __m512i ab_lo = _mm512_unpacklo_epi32(four[0], four[1]);
      const __m512i ab_hi = _mm512_unpackhi_epi32(four[0], four[1]);
      const __m512i cd_lo = _mm512_unpacklo_epi32(four[2], four[3]);
      const __m512i cd_hi = _mm512_unpackhi_epi32(four[2], four[3]);
      quad[q][0] = _mm512_unpacklo_epi64(ab_lo, cd_lo);
      quad[q][1] = _mm512_unpackhi_epi64(ab_lo, cd_lo);
      quad[q][2] = _mm512_unpacklo_epi64(ab_hi, cd_hi);
      quad[q][3] = _mm512_unpackhi_epi64(ab_hi, cd_hi);
    }
    const __m512i even = _mm512_set_epi64(13, 12, 5, 4, 9, 8, 1, 0);
    const __m512i odd = _mm512_set_epi64(15, 14, 7, 6, 11, 10, 3, 2);
    O3_UNROLL
    for (int c = 0; c < 4; ++c) {
      // Lanes 0 and 2, then 1 and 3, of both token halves side by side.
      const __m512i l02 = _mm512_permutex2var_epi64(quad[0][c], even, quad[1][c]);
      const __m512i l13 = _mm512_permutex2var_epi64(quad[0][c], odd, quad[1][c]);
      float* to = out + (4 * part + c) * stride;
      _mm512_storeu_ps(to, _mm512_cvtph_ps(_mm512_castsi512_si256(l02)));
      _mm512_storeu_ps(to + 8 * stride, _mm512_cvtph_ps(_mm512_castsi512_si256(l13)));
      if (dims <= 16) continue;
      _mm512_storeu_ps(to + 16 * stride, _mm512_cvtph_ps(_mm512_extracti64x4_epi64(l02, 1)));
      _mm512_storeu_ps(to + 24 * stride, _mm512_cvtph_ps(_mm512_extracti64x4_epi64(l13, 1)));
    }
  }
}

// The same from F32, which only tests and comparisons use.
void turn_floats(const Tokens& tokens, int32_t dim, int32_t dims, float* out) {
  for (int32_t token = 0; token < kLanes; ++token) {
    const bool there = token >= tokens.low && token < tokens.high;
    const uint8_t* row = there ? tokens.first_row + token * tokens.row_bytes : nullptr;
    for (int32_t d = 0; d < dims; ++d) {
      out[d * kKeyTokens + token] = there ? reinterpret_cast<const float*>(row)[dim + d] : 0.0F;
    }
  }
}

// Keys of slots [first, first + kKeyTokens) that lie in [begin, end), as [head_dim][kKeyTokens];
// zeros elsewhere. first is a multiple of 16, and so are page sizes.
void turn_keys(const AttnTile& t, int32_t first, float* out) {
  for (int32_t part = 0; part < kKeyTokens; part += kLanes) {
    const int32_t slot = first + part;
    Tokens tokens{};
    tokens.low = larger(t.begin - slot, 0);
    tokens.high = smaller(t.end - slot, kLanes);
    tokens.row_bytes = static_cast<int64_t>(t.head_dim) * (t.half ? 2 : 4);
    // The table may end before a stretch without tokens.
    if (tokens.low < tokens.high) tokens.first_row = slot_data(t, t.k, slot);
    for (int32_t d = 0; d < t.head_dim; d += 32) {
      const int32_t dims = smaller(32, t.head_dim - d);
      if (t.half) {
        turn_halves(tokens, d, dims, out + d * kKeyTokens + part);
      } else {
        turn_floats(tokens, d, dims, out + d * kKeyTokens + part);
      }
    }
  }
}

O3_INLINE __m512 finish_score(const AttnTile& t, __m512 dot) {
  const __m512 s = _mm512_mul_ps(dot, _mm512_set1_ps(t.scale));
  if (t.softcap <= 0) return s;
  // cap * tanh(s / cap), tanh(x) = 1 - 2 / (e^2x + 1)
  const __m512 cap = _mm512_set1_ps(t.softcap);
  const __m512 one = _mm512_set1_ps(1.0F);
  const __m512 two = _mm512_set1_ps(2.0F);
  const __m512 e = exp_ps(_mm512_mul_ps(two, _mm512_div_ps(s, cap)));
  return _mm512_mul_ps(cap, _mm512_sub_ps(one, _mm512_div_ps(two, _mm512_add_ps(e, one))));
}

// Scores of kKeyTokens slots for kCount vectors, the first of them `vector`.
template <int kCount>
void score_vectors(const AttnTile& t, int32_t vector, const float* keys, float* scores) {
  __m512 low[kCount];
  __m512 high[kCount];
  O3_UNROLL
  for (int i = 0; i < kCount; ++i) low[i] = high[i] = _mm512_setzero_ps();
  for (int32_t d = 0; d < t.head_dim; ++d) {
    const __m512 k0 = _mm512_loadu_ps(keys + d * kKeyTokens);
    const __m512 k1 = _mm512_loadu_ps(keys + d * kKeyTokens + kLanes);
    O3_UNROLL
    for (int i = 0; i < kCount; ++i) {
      const __m512 q = _mm512_set1_ps(t.q[vector + i][d]);
      low[i] = _mm512_fmadd_ps(q, k0, low[i]);
      high[i] = _mm512_fmadd_ps(q, k1, high[i]);
    }
  }
  O3_UNROLL
  for (int i = 0; i < kCount; ++i) {
    _mm512_storeu_ps(scores + i * kSplit, finish_score(t, low[i]));
    _mm512_storeu_ps(scores + i * kSplit + kLanes, finish_score(t, high[i]));
  }
}

// Slots that some vector of [vector, vector + count) sees. Vectors ascend with rows, and so do
// their bounds.
struct Range {
  int32_t low;
  int32_t high;
};
Range seen_by(const AttnTile& t, int32_t vector, int32_t count) {
  return {larger(t.begin, t.low[vector]), smaller(t.end, t.high[vector + count - 1])};
}

void score_all(const AttnTile& t, int32_t split_begin, float* scores, float* keys) {
  const int32_t start = t.begin / kKeyTokens * kKeyTokens;
  for (int32_t first = start; first < t.end; first += kKeyTokens) {
    turn_keys(t, first, keys);
    float* at = scores + (first - split_begin);
    for (int32_t v = 0; v < t.vectors; v += kMaxVectors) {
      const int32_t count = smaller(kMaxVectors, t.vectors - v);
      const Range range = seen_by(t, v, count);
      if (range.low >= first + kKeyTokens || range.high <= first) continue;
      float* to = at + v * kSplit;
      switch (count) {
        case 1:
          score_vectors<1>(t, v, keys, to);
          break;
        case 2:
          score_vectors<2>(t, v, keys, to);
          break;
        case 3:
          score_vectors<3>(t, v, keys, to);
          break;
        case 4:
          score_vectors<4>(t, v, keys, to);
          break;
        case 5:
          score_vectors<5>(t, v, keys, to);
          break;
        default:
          score_vectors<6>(t, v, keys, to);
          break;
      }
    }
  }
}

// Scores of one vector to e^(score - max), zero where it sees nothing.
void softmax(const AttnTile& t, int32_t vector, int32_t split_begin, float* scores) {
  constexpr int kParts = kSplit / kLanes;
  const int32_t low = larger(t.begin, t.low[vector]) - split_begin;
  const int32_t high = smaller(t.end, t.high[vector]) - split_begin;
  const __m512 nothing = _mm512_set1_ps(kNothing);
  __m512 s[kParts];
  __m512 largest = nothing;
  O3_UNROLL
  for (int i = 0; i < kParts; ++i) {
    const __mmask16 seen = static_cast<__mmask16>(first_lanes(larger(high - kLanes * i, 0)) &
                                                  ~first_lanes(larger(low - kLanes * i, 0)));
    s[i] = _mm512_mask_loadu_ps(nothing, seen, scores + kLanes * i);
    largest = _mm512_max_ps(largest, s[i]);
  }
  const float max = _mm512_reduce_max_ps(largest);
  // An empty vector's scores are all -infinity; -infinity less itself would be NaN.
  const __m512 base = _mm512_set1_ps(low < high ? max : 0.0F);
  __m512 sum = _mm512_setzero_ps();
  O3_UNROLL
  for (int i = 0; i < kParts; ++i) {
    const __m512 p = exp_ps(_mm512_sub_ps(s[i], base));
    _mm512_storeu_ps(scores + kLanes * i, p);
    sum = _mm512_add_ps(sum, p);
  }
  t.out.max[vector] = max;
  t.out.sum[vector] = _mm512_reduce_add_ps(sum);
}

O3_INLINE __m512 load_value(const AttnTile& t, const uint8_t* row, int32_t dim) {
  if (!t.half) return _mm512_loadu_ps(row + 4 * dim);
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + 2 * dim)));
}

// acc[vector + i][dim ...] = sum over slots of p * v, for kCount vectors and kWidth registers.
template <int kCount, int kWidth>
void weigh_values(const AttnTile& t, int32_t vector, int32_t dim, int32_t split_begin,
                  const float* weights) {
  __m512 acc[kCount][kWidth];
  O3_UNROLL
  for (int i = 0; i < kCount; ++i) {
    O3_UNROLL
    for (int w = 0; w < kWidth; ++w) acc[i][w] = _mm512_setzero_ps();
  }
  const Range range = seen_by(t, vector, kCount);
  for (int32_t slot = range.low; slot < range.high;) {
    const uint8_t* row = slot_data(t, t.v, slot);
    const int32_t end = smaller(range.high, (slot / t.page_tokens + 1) * t.page_tokens);
    for (; slot < end; ++slot, row += t.head_dim * (t.half ? 2 : 4)) {
      __m512 v[kWidth];
      O3_UNROLL
      for (int w = 0; w < kWidth; ++w) v[w] = load_value(t, row, dim + kLanes * w);
      O3_UNROLL
      for (int i = 0; i < kCount; ++i) {
        const __m512 p = _mm512_set1_ps(weights[i * kSplit + slot - split_begin]);
        O3_UNROLL
        for (int w = 0; w < kWidth; ++w) acc[i][w] = _mm512_fmadd_ps(p, v[w], acc[i][w]);
      }
    }
  }
  O3_UNROLL
  for (int i = 0; i < kCount; ++i) {
    float* to = t.out.acc + static_cast<int64_t>(vector + i) * t.head_dim + dim;
    O3_UNROLL
    for (int w = 0; w < kWidth; ++w) _mm512_storeu_ps(to + kLanes * w, acc[i][w]);
  }
}

template <int kWidth>
void weigh_some(const AttnTile& t, int32_t vector, int32_t count, int32_t dim, int32_t split_begin,
                const float* weights) {
  switch (count) {
    case 1:
      return weigh_values<1, kWidth>(t, vector, dim, split_begin, weights);
    case 2:
      return weigh_values<2, kWidth>(t, vector, dim, split_begin, weights);
    case 3:
      return weigh_values<3, kWidth>(t, vector, dim, split_begin, weights);
    case 4:
      return weigh_values<4, kWidth>(t, vector, dim, split_begin, weights);
    case 5:
      return weigh_values<5, kWidth>(t, vector, dim, split_begin, weights);
    default:
      return weigh_values<6, kWidth>(t, vector, dim, split_begin, weights);
  }
}

void weigh_all(const AttnTile& t, int32_t split_begin, const float* weights) {
  for (int32_t dim = 0; dim < t.head_dim;) {
    const bool wide = t.head_dim - dim >= kValueWidth;
    for (int32_t v = 0; v < t.vectors; v += kMaxVectors) {
      const int32_t count = smaller(kMaxVectors, t.vectors - v);
      const float* of = weights + v * kSplit;
      if (wide) {
        weigh_some<kValueWidth / kLanes>(t, v, count, dim, split_begin, of);
      } else {
        weigh_some<1>(t, v, count, dim, split_begin, of);
      }
    }
    dim += wide ? kValueWidth : kLanes;
  }
}

}  // namespace

void attend_split(const AttnTile& tile) {
  const int32_t split_begin = tile.begin / kSplit * kSplit;
  float* scores = tile.scratch;
  float* keys = scores + static_cast<int64_t>(kTileVectors) * kSplit;
  score_all(tile, split_begin, scores, keys);
  for (int32_t v = 0; v < tile.vectors; ++v) {
    softmax(tile, v, split_begin, scores + v * kSplit);
  }
  weigh_all(tile, split_begin, scores);
}

void merge_split(const Partial& into, const Partial& more, int32_t vectors, int32_t head_dim) {
  for (int32_t first = 0; first < vectors; first += kLanes) {
    const __mmask16 mask = first_lanes(vectors - first);
    const __m512 nothing = _mm512_set1_ps(kNothing);
    const __m512 old_max = _mm512_mask_loadu_ps(nothing, mask, into.max + first);
    const __m512 new_max = _mm512_mask_loadu_ps(nothing, mask, more.max + first);
    const __m512 max = _mm512_max_ps(old_max, new_max);
    // Where both are empty the difference would be NaN; their sums are zero and stay so.
    const __mmask16 any = _mm512_cmp_ps_mask(max, nothing, _CMP_NEQ_UQ);
    const __m512 a = exp_ps(_mm512_maskz_sub_ps(any, old_max, max));
    const __m512 b = exp_ps(_mm512_maskz_sub_ps(any, new_max, max));
    const __m512 old_sum = _mm512_maskz_loadu_ps(mask, into.sum + first);
    const __m512 new_sum = _mm512_maskz_loadu_ps(mask, more.sum + first);
    _mm512_mask_storeu_ps(into.max + first, mask, max);
    _mm512_mask_storeu_ps(into.sum + first, mask,
                          _mm512_fmadd_ps(new_sum, b, _mm512_mul_ps(old_sum, a)));
    float factor_a[kLanes];
    float factor_b[kLanes];
    _mm512_storeu_ps(factor_a, a);
    _mm512_storeu_ps(factor_b, b);
    for (int32_t i = 0; i < smaller(kLanes, vectors - first); ++i) {
      float* to = into.acc + static_cast<int64_t>(first + i) * head_dim;
      const float* from = more.acc + static_cast<int64_t>(first + i) * head_dim;
      const __m512 scale = _mm512_set1_ps(factor_a[i]);
      const __m512 weight = _mm512_set1_ps(factor_b[i]);
      for (int32_t d = 0; d < head_dim; d += kLanes) {
        const __m512 kept = _mm512_mul_ps(_mm512_loadu_ps(to + d), scale);
        _mm512_storeu_ps(to + d, _mm512_fmadd_ps(_mm512_loadu_ps(from + d), weight, kept));
      }
    }
  }
}

}  // namespace o3::kernels::cpu::avx512
