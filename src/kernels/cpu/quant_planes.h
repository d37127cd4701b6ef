// SPDX-License-Identifier: Apache-2.0
// Planes of packed weights (WeightLayout) over a vector type (Vec of math_*.h). Only for ISA files,
// hence the anonymous namespace.
#pragma once

#include <cstdint>

#include "kernels/cpu/isa_code.h"
#include "kernels/cpu/linear_tile.h"

namespace o3::kernels::cpu {
namespace {  // NOLINT: each ISA file must get its own copy

constexpr int kWords = 8;  // registers of V::kLanes x 4 inputs that make a block

// 4 bits: kWords / 2 registers.
template <class V>
O3_INLINE void load_nibbles(const uint8_t* at, typename V::Words* words) {
  O3_UNROLL
  for (int j = 0; j < kWords / 2; ++j) {
    const auto both = V::load_words(at + V::kLanes * 4 * j);
    words[j] = V::low_nibbles(both);
    words[j + kWords / 2] = V::high_nibbles(both);
  }
}

// 2 bits: two registers; bits 2k and 2k + 1 of the first belong to word k, of the second to 4 + k.
// They are put at bits kAt and kAt + 1.
template <class V, int kAt>
O3_INLINE void add_crumbs(const uint8_t* at, typename V::Words* words) {
  O3_UNROLL
  for (int half = 0; half < 2; ++half) {
    const auto packed = V::load_words(at + V::kLanes * 4 * half);
    typename V::Words* to = words + 4 * half;
    to[0] = V::add_masked(to[0], V::template shift<kAt>(packed), 3 << kAt);
    to[1] = V::add_masked(to[1], V::template shift<kAt - 2>(packed), 3 << kAt);
    to[2] = V::add_masked(to[2], V::template shift<kAt - 4>(packed), 3 << kAt);
    to[3] = V::add_masked(to[3], V::template shift<kAt - 6>(packed), 3 << kAt);
  }
}

// 1 bit: one register, whose bit k belongs to word k; put at bit kAt.
template <class V, int kAt>
O3_INLINE void add_bits(const uint8_t* at, typename V::Words* words) {
  const auto packed = V::load_words(at);
  words[0] = V::add_masked(words[0], V::template shift<kAt>(packed), 1 << kAt);
  words[1] = V::add_masked(words[1], V::template shift<kAt - 1>(packed), 1 << kAt);
  words[2] = V::add_masked(words[2], V::template shift<kAt - 2>(packed), 1 << kAt);
  words[3] = V::add_masked(words[3], V::template shift<kAt - 3>(packed), 1 << kAt);
  words[4] = V::add_masked(words[4], V::template shift<kAt - 4>(packed), 1 << kAt);
  words[5] = V::add_masked(words[5], V::template shift<kAt - 5>(packed), 1 << kAt);
  words[6] = V::add_masked(words[6], V::template shift<kAt - 6>(packed), 1 << kAt);
  words[7] = V::add_masked(words[7], V::template shift<kAt - 7>(packed), 1 << kAt);
}

template <class V>
O3_INLINE typename V::Reg negative_product(typename V::Reg a, typename V::Reg b) {
  return V::sub(V::zero(), V::mul(a, b));
}

// What formats have in common. kBytes256: packed bytes of 256 weights of one output; kSub: scales
// per block; kOfChunk: d and m are a chunk's, as in K formats.
template <class V, int kBytes256, bool kHasMinimum, int kSub, bool kOfChunk>
struct FormatBase {
  using Words = typename V::Words;
  using Reg = typename V::Reg;
  static constexpr int kRecordBytes = V::kLanes * 32 * kBytes256 / 256;  // about, per block
  static constexpr bool kMinimum = kHasMinimum;
  static constexpr int kSubBlocks = kSub;  // scales per block

  // Planes of block b. kBytes: per block and lane.
  O3_INLINE static const uint8_t* chunk(const WeightLayout& l, const uint8_t* record, int64_t b) {
    return kOfChunk ? record + b / 8 * l.chunk_bytes : record;
  }
  template <int kBytes>
  O3_INLINE static const uint8_t* plane(const WeightLayout& l, const uint8_t* record, int64_t b,
                                        int64_t offset) {
    return chunk(l, record, b) + offset + (kOfChunk ? b % 8 : b) * (V::kLanes * kBytes);
  }
  // d and m as stored.
  O3_INLINE static Reg load_d(const WeightLayout& l, const uint8_t* record, int64_t b) {
    return V::load_half(reinterpret_cast<const uint16_t*>(chunk(l, record, b) + l.d_offset) +
                        (kOfChunk ? 0 : b * V::kLanes));
  }
  O3_INLINE static Reg load_m(const WeightLayout& l, const uint8_t* record, int64_t b) {
    return V::load_half(reinterpret_cast<const uint16_t*>(chunk(l, record, b) + l.m_offset) +
                        (kOfChunk ? 0 : b * V::kLanes));
  }
};

}  // namespace
}  // namespace o3::kernels::cpu
