// SPDX-License-Identifier: Apache-2.0
// The packed weight formats over a vector type (Vec of math_*.h): how a block's planes
// (WeightLayout) become unsigned bytes and FP32 scales. Only for ISA files, hence the anonymous
// namespace.
#pragma once

#include <cstdint>

#include "kernels/cpu/isa_code.h"
#include "kernels/cpu/linear_tile.h"
#include "kernels/cpu/quant_planes.h"

namespace o3::kernels::cpu {
namespace {  // NOLINT: each ISA file must get its own copy

// NOLINTBEGIN(readability-identifier-naming): the names are ggml's

// Formats give, for block b of a record:
//   words()   the quants as unsigned bytes, value = byte - kBias, byte <= kMost
//   scales()  d of each sub-block; minima() the minimum of each, where kMinimum
//   min_pairs() and load_m(), the minima's integers and factor, in types with two of both

// One F16 scale, and minimum or not, per block.
template <class V, int kBytes256, bool kHasMinimum>
struct Scaled32 : FormatBase<V, kBytes256, kHasMinimum, 1, false> {
  using Base = FormatBase<V, kBytes256, kHasMinimum, 1, false>;
  O3_INLINE static void scales(const WeightLayout& l, const uint8_t* record, int64_t b,
                               typename V::Reg* to) {
    to[0] = Base::load_d(l, record, b);
  }
  O3_INLINE static void minima(const WeightLayout& l, const uint8_t* record, int64_t b,
                               typename V::Reg* to) {
    to[0] = kHasMinimum ? Base::load_m(l, record, b) : V::zero();
  }
};

template <class V, int kBytes256, bool kHasMinimum>
struct Nibbles : Scaled32<V, kBytes256, kHasMinimum> {
  static constexpr int kMost = 15;
  O3_INLINE static void words(const WeightLayout&, const uint8_t* record, int64_t b,
                              typename V::Words* to) {
    load_nibbles<V>(record + b * (V::kLanes * 16), to);
  }
};
template <class V>
struct Q4_0 : Nibbles<V, 18 * 8, false> {
  static constexpr int kBias = 8;
};
template <class V>
struct Q4_1 : Nibbles<V, 20 * 8, true> {
  static constexpr int kBias = 0;
};

template <class V, int kBytes256, bool kHasMinimum>
struct FiveBits : Scaled32<V, kBytes256, kHasMinimum> {
  static constexpr int kMost = 31;
  O3_INLINE static void words(const WeightLayout& l, const uint8_t* record, int64_t b,
                              typename V::Words* to) {
    load_nibbles<V>(record + b * (V::kLanes * 16), to);
    add_bits<V, 4>(record + l.high_offset + b * (V::kLanes * 4), to);
  }
};
template <class V>
struct Q5_0 : FiveBits<V, 22 * 8, false> {
  static constexpr int kBias = 16;
};
template <class V>
struct Q5_1 : FiveBits<V, 24 * 8, true> {
  static constexpr int kBias = 0;
};

template <class V>
struct Q8_0 : Scaled32<V, 34 * 8, false> {
  static constexpr int kBias = 128;
  static constexpr int kMost = 255;
  O3_INLINE static void words(const WeightLayout&, const uint8_t* record, int64_t b,
                              typename V::Words* to) {
    O3_UNROLL
    for (int j = 0; j < kWords; ++j) {
      to[j] = V::load_biased_words(record + b * (V::kLanes * 32) + V::kLanes * 4 * j);
    }
  }
};

// The codebook's values (see block_format.cc) with a bias of 128.
constexpr uint8_t kIq4NlBiased[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                      129, 141, 153, 166, 181, 197, 217, 241};
template <class V>
struct Iq4Nl : Scaled32<V, 18 * 8, false> {
  static constexpr int kBias = 128;
  static constexpr int kMost = 255;
  O3_INLINE static void words(const WeightLayout&, const uint8_t* record, int64_t b,
                              typename V::Words* to) {
    load_nibbles<V>(record + b * (V::kLanes * 16), to);
    const auto table = V::load_table(kIq4NlBiased);
    O3_UNROLL
    for (int j = 0; j < kWords; ++j) to[j] = V::look_up(table, to[j]);
  }
};

// K formats with one scale and minimum per block: d * scale, -m * min scale.
template <class V, int kBytes256>
struct Scaled32K : FormatBase<V, kBytes256, true, 1, true> {
  using Base = FormatBase<V, kBytes256, true, 1, true>;
  static constexpr int kBias = 0;
  O3_INLINE static void scales(const WeightLayout& l, const uint8_t* record, int64_t b,
                               typename V::Reg* to) {
    const uint8_t* at = Base::template plane<1>(l, record, b, l.scale_offset);
    to[0] = V::mul(Base::load_d(l, record, b), V::to_float(V::load_unsigned(at)));
  }
  O3_INLINE static void minima(const WeightLayout& l, const uint8_t* record, int64_t b,
                               typename V::Reg* to) {
    const uint8_t* at = Base::template plane<1>(l, record, b, l.min_scale_offset);
    to[0] = negative_product<V>(Base::load_m(l, record, b), V::to_float(V::load_unsigned(at)));
  }
};
template <class V>
struct Q4_K : Scaled32K<V, 37 * 4> {
  static constexpr int kMost = 15;
  O3_INLINE static void words(const WeightLayout& l, const uint8_t* record, int64_t b,
                              typename V::Words* to) {
    load_nibbles<V>(Q4_K::template plane<16>(l, record, b, 0), to);
  }
};
template <class V>
struct Q5_K : Scaled32K<V, 45 * 4> {
  static constexpr int kMost = 31;
  O3_INLINE static void words(const WeightLayout& l, const uint8_t* record, int64_t b,
                              typename V::Words* to) {
    load_nibbles<V>(Q5_K::template plane<16>(l, record, b, 0), to);
    add_bits<V, 4>(Q5_K::template plane<4>(l, record, b, l.high_offset), to);
  }
};

// K formats with a signed scale per 16 weights.
template <class V, int kBytes256>
struct Scaled16K : FormatBase<V, kBytes256, false, 2, true> {
  using Base = FormatBase<V, kBytes256, false, 2, true>;
  O3_INLINE static void scales(const WeightLayout& l, const uint8_t* record, int64_t b,
                               typename V::Reg* to) {
    const uint8_t* at = Base::template plane<2>(l, record, b, l.scale_offset);
    const auto d = Base::load_d(l, record, b);
    to[0] = V::mul(d, V::to_float(V::load_signed(at)));
    to[1] = V::mul(d, V::to_float(V::load_signed(at + V::kLanes)));
  }
  O3_INLINE static void minima(const WeightLayout&, const uint8_t*, int64_t, typename V::Reg* to) {
    to[0] = V::zero();
    to[1] = V::zero();
  }
};
template <class V>
struct Q3_K : Scaled16K<V, 29 * 4> {
  static constexpr int kBias = 4;
  static constexpr int kMost = 7;
  O3_INLINE static void words(const WeightLayout& l, const uint8_t* record, int64_t b,
                              typename V::Words* to) {
    O3_UNROLL
    for (int j = 0; j < kWords; ++j) to[j] = V::no_words();
    add_crumbs<V, 0>(Q3_K::template plane<8>(l, record, b, 0), to);
    add_bits<V, 2>(Q3_K::template plane<4>(l, record, b, l.high_offset), to);
  }
};
template <class V>
struct Q6_K : Scaled16K<V, 53 * 4> {
  static constexpr int kBias = 32;
  static constexpr int kMost = 63;
  O3_INLINE static void words(const WeightLayout& l, const uint8_t* record, int64_t b,
                              typename V::Words* to) {
    load_nibbles<V>(Q6_K::template plane<16>(l, record, b, 0), to);
    add_crumbs<V, 4>(Q6_K::template plane<8>(l, record, b, l.high_offset), to);
  }
};

// A scale and a minimum of 4 bits each per 16 weights.
template <class V>
struct Q2_K : FormatBase<V, 21 * 4, true, 2, true> {
  static constexpr int kBias = 0;
  static constexpr int kMost = 3;
  O3_INLINE static void words(const WeightLayout& l, const uint8_t* record, int64_t b,
                              typename V::Words* to) {
    O3_UNROLL
    for (int j = 0; j < kWords; ++j) to[j] = V::no_words();
    add_crumbs<V, 0>(Q2_K::template plane<8>(l, record, b, 0), to);
  }
  // Both halves of the bytes of sub-block s, as int32.
  O3_INLINE static typename V::Words both(const WeightLayout& l, const uint8_t* record, int64_t b,
                                          int s) {
    return V::load_unsigned(Q2_K::template plane<2>(l, record, b, l.scale_offset) + s * V::kLanes);
  }
  O3_INLINE static void scales(const WeightLayout& l, const uint8_t* record, int64_t b,
                               typename V::Reg* to) {
    const auto d = Q2_K::load_d(l, record, b);
    to[0] = V::mul(d, V::to_float(V::low_nibbles(both(l, record, b, 0))));
    to[1] = V::mul(d, V::to_float(V::low_nibbles(both(l, record, b, 1))));
  }
  O3_INLINE static void minima(const WeightLayout& l, const uint8_t* record, int64_t b,
                               typename V::Reg* to) {
    const auto m = Q2_K::load_m(l, record, b);
    to[0] = negative_product<V>(m, V::to_float(V::high_nibbles(both(l, record, b, 0))));
    to[1] = negative_product<V>(m, V::to_float(V::high_nibbles(both(l, record, b, 1))));
  }
  // For integer kernels: the minima are m times these pairs of int16.
  O3_INLINE static typename V::Words min_pairs(const WeightLayout& l, const uint8_t* record,
                                               int64_t b) {
    return V::pair(V::high_nibbles(both(l, record, b, 0)), V::high_nibbles(both(l, record, b, 1)));
  }
};

// NOLINTEND(readability-identifier-naming)

// Kernel<Format>::run of a block format; null for plain ones.
template <class V, template <class> class Kernel>
O3_INLINE LinearTileFn quant_kernel(WeightFormat format) {
  switch (format) {
    case WeightFormat::kF32:
    case WeightFormat::kF16:
    case WeightFormat::kBF16:
      return nullptr;
    case WeightFormat::kQ4_0:
      return Kernel<Q4_0<V>>::run;
    case WeightFormat::kQ4_1:
      return Kernel<Q4_1<V>>::run;
    case WeightFormat::kQ5_0:
      return Kernel<Q5_0<V>>::run;
    case WeightFormat::kQ5_1:
      return Kernel<Q5_1<V>>::run;
    case WeightFormat::kQ8_0:
      return Kernel<Q8_0<V>>::run;
    case WeightFormat::kQ2_K:
      return Kernel<Q2_K<V>>::run;
    case WeightFormat::kQ3_K:
      return Kernel<Q3_K<V>>::run;
    case WeightFormat::kQ4_K:
      return Kernel<Q4_K<V>>::run;
    case WeightFormat::kQ5_K:
      return Kernel<Q5_K<V>>::run;
    case WeightFormat::kQ6_K:
      return Kernel<Q6_K<V>>::run;
    case WeightFormat::kIQ4_NL:
      return Kernel<Iq4Nl<V>>::run;
  }
  return nullptr;
}

}  // namespace
}  // namespace o3::kernels::cpu
