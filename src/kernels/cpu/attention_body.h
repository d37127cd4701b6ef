// SPDX-License-Identifier: Apache-2.0
// Attention over a vector type; only for ISA files, hence the anonymous namespace.
//
// Keys are turned so that tokens lie side by side: a score then is one chain of multiply-adds over
// the head's dimensions, in every batch the same. K is a Vec of math_*.h and adds
//   kVectors     query vectors whose sums fit the registers, beside kValueRegs registers of values
//   kTurnDims    dimensions turn_halves() handles at a time
//   turn_halves  kLanes tokens of F16 to F32, see Tokens
#pragma once

#include <cstdint>

#include "kernels/cpu/attention_tile.h"
#include "kernels/cpu/isa_code.h"

namespace o3::kernels::cpu {
namespace {  // NOLINT: each ISA file must get its own copy

constexpr float kNothing = -__builtin_inff();

O3_INLINE int32_t smaller(int32_t a, int32_t b) {
  return a < b ? a : b;
}
O3_INLINE int32_t larger(int32_t a, int32_t b) {
  return a > b ? a : b;
}

// Tokens [low, high) of kLanes consecutive ones; the others become zeros and are not read.
// turn_halves(tokens, dim, dims, out): out[d] = the tokens' values of dimension dim + d for d <
// dims, rows kKeyTokens apart.
struct Tokens {
  const uint8_t* first_row;
  int64_t row_bytes;
  int32_t low;
  int32_t high;
};

template <class K>
struct Attention {
  using Reg = typename K::Reg;
  static constexpr int kLanes = K::kLanes;
  static constexpr int kScoreRegs = kKeyTokens / kLanes;

  static void attend(const AttnTile& t) {
    const int32_t split_begin = t.begin / kSplit * kSplit;
    float* scores = t.scratch;
    float* keys = scores + static_cast<int64_t>(kTileVectors) * kSplit;
    score_all(t, split_begin, scores, keys);
    for (int32_t v = 0; v < t.vectors; ++v) softmax(t, v, split_begin, scores + v * kSplit);
    weigh_all(t, split_begin, scores);
  }

  static void merge(const Partial& into, const Partial& more, int32_t vectors, int32_t head_dim) {
    for (int32_t first = 0; first < vectors; first += kLanes) {
      const int32_t count = smaller(kLanes, vectors - first);
      const Reg old_max = K::load_first(into.max + first, count, kNothing);
      const Reg new_max = K::load_first(more.max + first, count, kNothing);
      const Reg max = K::max(old_max, new_max);
      // Where both are empty the differences are NaN, whose e^x would spoil the zero sums; a
      // finite base makes the factors zero.
      const Reg base = K::max(K::set1(-3e38F), max);
      const Reg a = K::exp(K::sub(old_max, base));
      const Reg b = K::exp(K::sub(new_max, base));
      const Reg old_sum = K::load_first(into.sum + first, count, 0.0F);
      const Reg new_sum = K::load_first(more.sum + first, count, 0.0F);
      K::store_first(into.max + first, count, max);
      K::store_first(into.sum + first, count, K::fmadd(new_sum, b, K::mul(old_sum, a)));
      float factor_a[kLanes];
      float factor_b[kLanes];
      K::store(factor_a, a);
      K::store(factor_b, b);
      for (int32_t i = 0; i < count; ++i) {
        const int64_t at = static_cast<int64_t>(first + i) * head_dim;
        merge_vector(into.acc + at, factor_a[i], more.acc + at, factor_b[i], head_dim);
      }
    }
  }

 private:
  static void merge_vector(float* to, float a, const float* from, float b, int32_t head_dim) {
    for (int32_t d = 0; d < head_dim; d += kLanes) {
      const Reg kept = K::mul(K::load(to + d), K::set1(a));
      K::store(to + d, K::fmadd(K::load(from + d), K::set1(b), kept));
    }
  }

  static const uint8_t* slot_data(const AttnTile& t, const uint8_t* base, int32_t slot) {
    const int64_t page = t.table[slot / t.page_tokens];
    const int64_t row = static_cast<int64_t>(slot % t.page_tokens) * t.head_dim;
    return base + page * t.page_bytes + row * (t.half ? 2 : 4);
  }

  // F32 caches serve tests and comparisons.
  static void turn_floats(const Tokens& tokens, int32_t dims, float* out) {
    for (int32_t token = 0; token < kLanes; ++token) {
      const bool there = token >= tokens.low && token < tokens.high;
      const uint8_t* row = there ? tokens.first_row + token * tokens.row_bytes : nullptr;
      for (int32_t d = 0; d < dims; ++d) {
        out[d * kKeyTokens + token] = there ? reinterpret_cast<const float*>(row)[d] : 0.0F;
      }
    }
  }

  // Keys of slots [first, first + kKeyTokens) that lie in [begin, end), as [head_dim][kKeyTokens];
  // zeros elsewhere. first is a multiple of kLanes, and so are page sizes.
  static void turn_keys(const AttnTile& t, int32_t first, float* out) {
    for (int32_t part = 0; part < kKeyTokens; part += kLanes) {
      const int32_t slot = first + part;
      Tokens tokens{};
      tokens.low = larger(t.begin - slot, 0);
      tokens.high = smaller(t.end - slot, kLanes);
      tokens.row_bytes = static_cast<int64_t>(t.head_dim) * (t.half ? 2 : 4);
      // The table may end before a stretch without tokens.
      if (tokens.low < tokens.high) tokens.first_row = slot_data(t, t.k, slot);
      if (!t.half) {
        turn_floats(tokens, t.head_dim, out + part);
        continue;
      }
      for (int32_t d = 0; d < t.head_dim; d += K::kTurnDims) {
        K::turn_halves(tokens, d, smaller(K::kTurnDims, t.head_dim - d),
                       out + d * kKeyTokens + part);
      }
    }
  }

  O3_INLINE static Reg finish_score(const AttnTile& t, Reg dot) {
    const Reg s = K::mul(dot, K::set1(t.scale));
    if (t.softcap <= 0) return s;
    // cap * tanh(s / cap), tanh(x) = 1 - 2 / (e^2x + 1)
    const Reg cap = K::set1(t.softcap);
    const Reg one = K::set1(1.0F);
    const Reg two = K::set1(2.0F);
    const Reg e = K::exp(K::mul(two, K::div(s, cap)));
    return K::mul(cap, K::sub(one, K::div(two, K::add(e, one))));
  }

  // Scores of kKeyTokens slots for kCount vectors, the first of them `vector`.
  template <int kCount>
  static void score_vectors(const AttnTile& t, int32_t vector, const float* keys, float* scores) {
    Reg dot[kCount][kScoreRegs];
    O3_UNROLL
    for (int i = 0; i < kCount; ++i) {
      O3_UNROLL
      for (int j = 0; j < kScoreRegs; ++j) dot[i][j] = K::zero();
    }
    for (int32_t d = 0; d < t.head_dim; ++d) {
      const float* row = keys + d * kKeyTokens;
      O3_UNROLL
      for (int i = 0; i < kCount; ++i) {
        const Reg q = K::set1(t.q[vector + i][d]);
        O3_UNROLL
        for (int j = 0; j < kScoreRegs; ++j) {
          dot[i][j] = K::fmadd(q, K::load(row + kLanes * j), dot[i][j]);
        }
      }
    }
    O3_UNROLL
    for (int i = 0; i < kCount; ++i) {
      O3_UNROLL
      for (int j = 0; j < kScoreRegs; ++j) {
        K::store(scores + i * kSplit + kLanes * j, finish_score(t, dot[i][j]));
      }
    }
  }

  template <int kCount>
  static void score_some(const AttnTile& t, int32_t vector, int32_t count, const float* keys,
                         float* scores) {
    if constexpr (kCount > 1) {
      if (count < kCount) return score_some<kCount - 1>(t, vector, count, keys, scores);
    }
    score_vectors<kCount>(t, vector, keys, scores);
  }

  // Slots that some vector of [vector, vector + count) sees. Vectors ascend with rows, and so do
  // their bounds.
  struct Range {
    int32_t low;
    int32_t high;
  };
  static Range seen_by(const AttnTile& t, int32_t vector, int32_t count) {
    return {larger(t.begin, t.low[vector]), smaller(t.end, t.high[vector + count - 1])};
  }

  static void score_all(const AttnTile& t, int32_t split_begin, float* scores, float* keys) {
    const int32_t start = t.begin / kKeyTokens * kKeyTokens;
    for (int32_t first = start; first < t.end; first += kKeyTokens) {
      turn_keys(t, first, keys);
      float* at = scores + (first - split_begin);
      for (int32_t v = 0; v < t.vectors; v += K::kVectors) {
        const int32_t count = smaller(K::kVectors, t.vectors - v);
        const Range range = seen_by(t, v, count);
        if (range.low >= first + kKeyTokens || range.high <= first) continue;
        score_some<K::kVectors>(t, v, count, keys, at + v * kSplit);
      }
    }
  }

  // Scores of one vector to e^(score - max), zero where it sees nothing.
  static void softmax(const AttnTile& t, int32_t vector, int32_t split_begin, float* scores) {
    const int32_t low = larger(t.begin, t.low[vector]) - split_begin;
    const int32_t high = smaller(t.end, t.high[vector]) - split_begin;
    Reg largest = K::set1(kNothing);
    for (int i = 0; i < kSplit; i += kLanes) {
      largest = K::max(largest, K::load_between(scores + i, low - i, high - i));
    }
    const float max = K::reduce_max(largest);
    // An empty vector's scores are all -infinity; -infinity less itself would be NaN.
    const Reg base = K::set1(low < high ? max : 0.0F);
    Reg sum = K::zero();
    for (int i = 0; i < kSplit; i += kLanes) {
      const Reg s = K::load_between(scores + i, low - i, high - i);
      const Reg p = K::exp(K::sub(s, base));
      K::store(scores + i, p);
      sum = K::add(sum, p);
    }
    t.out.max[vector] = max;
    t.out.sum[vector] = K::reduce_add(sum);
  }

  O3_INLINE static Reg load_value(bool half, const uint8_t* row, int32_t dim) {
    if (!half) return K::load(reinterpret_cast<const float*>(row) + dim);
    return K::load_half(reinterpret_cast<const uint16_t*>(row) + dim);
  }

  // acc[vector + i][dim ...] = sum over slots of weight * v, for kCount vectors and kRegs
  // registers.
  template <int kCount, int kRegs>
  static void weigh_values(const AttnTile& t, int32_t vector, int32_t dim, int32_t split_begin,
                           const float* weights) {
    Reg acc[kCount][kRegs];
    O3_UNROLL
    for (int i = 0; i < kCount; ++i) {
      O3_UNROLL
      for (int w = 0; w < kRegs; ++w) acc[i][w] = K::zero();
    }
    const bool half = t.half;
    const int64_t row_bytes = static_cast<int64_t>(t.head_dim) * (half ? 2 : 4);
    const Range range = seen_by(t, vector, kCount);
    for (int32_t slot = range.low; slot < range.high;) {
      const uint8_t* row = slot_data(t, t.v, slot);
      const int32_t end = smaller(range.high, (slot / t.page_tokens + 1) * t.page_tokens);
      for (; slot < end; ++slot, row += row_bytes) {
        const float* weight = weights + (slot - split_begin);
        O3_UNROLL
        for (int w = 0; w < kRegs; ++w) {
          const Reg v = load_value(half, row, dim + kLanes * w);
          O3_UNROLL
          for (int i = 0; i < kCount; ++i) {
            acc[i][w] = K::fmadd(K::set1(weight[i * kSplit]), v, acc[i][w]);
          }
        }
      }
    }
    O3_UNROLL
    for (int i = 0; i < kCount; ++i) {
      float* to = t.out.acc + static_cast<int64_t>(vector + i) * t.head_dim + dim;
      O3_UNROLL
      for (int w = 0; w < kRegs; ++w) K::store(to + kLanes * w, acc[i][w]);
    }
  }

  template <int kCount, int kRegs>
  static void weigh_some(const AttnTile& t, int32_t vector, int32_t count, int32_t dim,
                         int32_t split_begin, const float* weights) {
    if constexpr (kCount > 1) {
      if (count < kCount) {
        return weigh_some<kCount - 1, kRegs>(t, vector, count, dim, split_begin, weights);
      }
    }
    weigh_values<kCount, kRegs>(t, vector, dim, split_begin, weights);
  }

  static void weigh_all(const AttnTile& t, int32_t split_begin, const float* weights) {
    constexpr int32_t kWide = K::kValueRegs * kLanes;
    for (int32_t dim = 0; dim < t.head_dim;) {
      const bool wide = t.head_dim - dim >= kWide;
      for (int32_t v = 0; v < t.vectors; v += K::kVectors) {
        const int32_t count = smaller(K::kVectors, t.vectors - v);
        const float* of = weights + v * kSplit;
        if (wide) {
          weigh_some<K::kVectors, K::kValueRegs>(t, v, count, dim, split_begin, of);
        } else {
          weigh_some<K::kVectors, 1>(t, v, count, dim, split_begin, of);
        }
      }
      dim += wide ? kWide : kLanes;
    }
  }
};

}  // namespace
}  // namespace o3::kernels::cpu
