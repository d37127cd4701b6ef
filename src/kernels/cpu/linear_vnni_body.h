// SPDX-License-Identifier: Apache-2.0
// Integer products on AVX-512 VNNI: 16 outputs per register, up to 8 rows at a time; and the frame
// that AMX shares. Only for ISA files (see linear_tile.h), hence the anonymous namespace.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/isa_code.h"
#include "kernels/cpu/linear_tile.h"
#include "kernels/cpu/math_avx512.h"
#include "kernels/cpu/quant_formats.h"

namespace o3::kernels::cpu::avx512 {
namespace {  // NOLINT: each ISA file must get its own copy

constexpr int kLanes = 16;
// Blocks whose weights are unpacked at once: with the activations of one panel they stay in a 48
// KiB L1 cache.
constexpr int64_t kChunk = 32;

// One block of 16 outputs, ready for VNNI. total: the sum of the quants (less their bias); where a
// block has two scales, the sum of the weights.
struct Block1 {
  __m512i words[kWords];
  __m512 total;
  __m512 d[1];
  __m512 m[1];
};
struct Block2 {
  __m512i words[kWords];
  __m512 total;
  __m512 d[2];
};
struct Block2Minima : Block2 {
  __m512i min_pairs;  // the minima are m times these, int16 of each half
  __m512 m;
};

template <int kSubBlocks, bool kMinimum>
struct BlockType {
  using Type = Block1;
};
template <>
struct BlockType<2, false> {
  using Type = Block2;
};
template <>
struct BlockType<2, true> {
  using Type = Block2Minima;
};
template <class Format>
using Block = typename BlockType<Format::kSubBlocks, Format::kMinimum>::Type;

// Sums of the bytes of kCount words, less the bias.
template <int kBias, int kCount>
O3_INLINE __m512 sum_words(const __m512i* words) {
  const __m512i ones = _mm512_set1_epi8(1);
  __m512i even = _mm512_set1_epi32(-kBias * 4 * kCount);
  __m512i odd = _mm512_setzero_si512();
  O3_UNROLL
  for (int j = 0; j < kCount; j += 2) {
    even = _mm512_dpbusd_epi32(even, words[j], ones);
    odd = _mm512_dpbusd_epi32(odd, words[j + 1], ones);
  }
  return _mm512_cvtepi32_ps(_mm512_add_epi32(even, odd));
}

template <class Format>
O3_INLINE void unpack(const LinearTile& t, const uint8_t* record, int64_t b, Block<Format>& block) {
  Format::words(t.layout, record, b, block.words);
  Format::scales(t.layout, record, b, block.d);
  if constexpr (Format::kSubBlocks == 1) {
    block.total = sum_words<Format::kBias, kWords>(block.words);
    Format::minima(t.layout, record, b, block.m);
  } else {
    const __m512 first = sum_words<Format::kBias, kWords / 2>(block.words);
    const __m512 second = sum_words<Format::kBias, kWords / 2>(block.words + kWords / 2);
    block.total = _mm512_fmadd_ps(block.d[1], second, _mm512_mul_ps(block.d[0], first));
    if constexpr (Format::kMinimum) {
      block.min_pairs = Format::min_pairs(t.layout, record, b);
      block.m = _mm512_sub_ps(_mm512_setzero_ps(), Format::load_m(t.layout, record, b));
      const __m512i sum = _mm512_madd_epi16(block.min_pairs, _mm512_set1_epi16(kBlock / 2));
      block.total = _mm512_fmadd_ps(block.m, _mm512_cvtepi32_ps(sum), block.total);
    }
  }
}

// Where one pass over some blocks of some rows reads and writes.
struct Pass {
  const uint8_t* record;  // packed weights of the group
  int64_t first_block;
  int64_t end_block;
  const uint8_t* x;   // panel record of first_block
  int64_t first_row;  // within the panel
  int64_t rows;       // that exist of those a pass computes
  float* y;
  int64_t y_stride;
  __mmask16 outs;
  bool from_y;  // sums start from y, else from 0
};

// acc += the exact dot products of one row with each sub-block, scaled. `scale` points at the row's
// scale.
template <class Format, int kHeight>
O3_INLINE void add_dots(const Block<Format>& block, const __m512i* dots, const float* scale,
                        __m512& acc) {
  const __m512 factor = _mm512_set1_ps(*scale);
  const __m512 center = _mm512_set1_ps(scale[kHeight]);
  if constexpr (Format::kSubBlocks == 1) {
    const __m512 shifted = _mm512_mul_ps(block.total, center);
    const __m512 product = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots[0]), factor, shifted);
    acc = _mm512_fmadd_ps(block.d[0], product, acc);
    if constexpr (Format::kMinimum) {
      acc = _mm512_fmadd_ps(block.m[0], _mm512_set1_ps(scale[2 * kHeight]), acc);
    }
  } else {
    __m512 product = _mm512_mul_ps(_mm512_cvtepi32_ps(dots[1]), block.d[1]);
    if constexpr (Format::kMinimum) {
      const auto* isums = reinterpret_cast<const int32_t*>(scale + 3 * kHeight);
      const __m512i sum = _mm512_madd_epi16(block.min_pairs, _mm512_set1_epi32(*isums));
      product = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), block.m, product);
    }
    product = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots[0]), block.d[0], product);
    acc = _mm512_fmadd_ps(product, factor, acc);
    acc = _mm512_fmadd_ps(block.total, center, acc);
  }
}

// What the bias adds to the dot product of sub-block kSub, taken off; isums: the row's two sums.
template <class Format, int kSub>
O3_INLINE __m512i less_bias(const int32_t* isums) {
  if constexpr (Format::kBias == 0) return _mm512_setzero_si512();
  constexpr int kFirst = Format::kSubBlocks == 2 && kSub == 1 ? 0 : -Format::kBias;
  constexpr int kSecond = Format::kSubBlocks == 2 && kSub == 0 ? 0 : -Format::kBias;
  constexpr uint32_t kPair =
      (static_cast<uint32_t>(kSecond) << 16U) | (static_cast<uint32_t>(kFirst) & 0xffffU);
  return _mm512_dpwssd_epi32(_mm512_setzero_si512(), _mm512_set1_epi32(*isums),
                             _mm512_set1_epi32(static_cast<int32_t>(kPair)));
}

template <class Format, int kHeight, int kRows>
O3_INLINE void add_block(const Block<Format>& block, const uint8_t* x, int64_t first_row,
                         __m512* acc) {
  constexpr int kSubWords = kWords / Format::kSubBlocks;
  const uint8_t* rows = x + first_row * kBlock;
  const auto* scales = reinterpret_cast<const float*>(x + kHeight * kScaleAt) + first_row;
  const auto* isums = reinterpret_cast<const int32_t*>(scales + 3 * kHeight);
  O3_UNROLL
  for (int r = 0; r < kRows; ++r) {
    const auto* q = reinterpret_cast<const int32_t*>(rows + r * kBlock);
    __m512i dots[2];
    dots[0] = less_bias<Format, 0>(isums + r);
    if constexpr (Format::kSubBlocks == 2) dots[1] = less_bias<Format, 1>(isums + r);
    O3_UNROLL
    for (int j = 0; j < kWords; ++j) {
      const int sub = j / kSubWords;
      dots[sub] = _mm512_dpbusd_epi32(dots[sub], block.words[j], _mm512_set1_epi32(q[j]));
    }
    add_dots<Format, kHeight>(block, dots, scales + r, acc[r]);
  }
}

// kRows rows of a panel; of those that do not exist the results are not stored.
// `unpacked`: the blocks from first_block on, or null: they are unpacked as they come.
template <class Format, int kHeight, int kRows, bool kUnpacked>
void run_pass(const LinearTile& t, const Pass& pass, const Block<Format>* unpacked) {
  __m512 acc[kRows];
  O3_UNROLL
  for (int r = 0; r < kRows; ++r) {
    acc[r] = pass.from_y && r < pass.rows
                 ? _mm512_maskz_loadu_ps(pass.outs, pass.y + r * pass.y_stride)
                 : _mm512_setzero_ps();
  }
  const uint8_t* x = pass.x;
  for (int64_t b = pass.first_block; b < pass.end_block; ++b, x += kHeight * kQuantBytes) {
    if (kUnpacked) {
      add_block<Format, kHeight, kRows>(unpacked[b - pass.first_block], x, pass.first_row, acc);
    } else {
      prefetch<Format::kRecordBytes>(pass.record + b * Format::kRecordBytes + kPrefetchAhead);
      Block<Format> block;
      unpack<Format>(t, pass.record, b, block);
      add_block<Format, kHeight, kRows>(block, x, pass.first_row, acc);
    }
  }
  O3_UNROLL
  for (int r = 0; r < kRows; ++r) {
    if (r < pass.rows) _mm512_mask_storeu_ps(pass.y + r * pass.y_stride, pass.outs, acc[r]);
  }
}

__mmask16 mask_of(int64_t outs) {
  return outs >= kLanes ? static_cast<__mmask16>(0xffff)
                        : static_cast<__mmask16>((1U << static_cast<unsigned>(outs)) - 1U);
}

int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

// Rows of one panel by VNNI.
struct VnniPanels {
  template <class Format>
  static void begin() {}
  static void end() {}
  template <class Format>
  static void prepare(Block<Format>& /*block*/) {}

  template <class Format>
  static void run(const LinearTile& t, Pass pass, const Block<Format>* unpacked, int64_t rows) {
    float* const y = pass.y;
    for (int64_t row = 0; row < rows; row += 8) {
      pass.first_row = row;
      pass.rows = smaller(8, rows - row);
      pass.y = y + row * t.y_stride;
      if (pass.rows > 4) {
        run_pass<Format, kPanel, 8, true>(t, pass, unpacked);
      } else {
        run_pass<Format, kPanel, 4, true>(t, pass, unpacked);
      }
    }
  }
};

// Unpacks a chunk of blocks, then runs it over all panels.
template <class Format, class Panels>
void block_group(const LinearTile& t, Pass pass) {
  Block<Format> unpacked[kChunk];
  const int64_t blocks = t.in / kBlock;
  float* const y = pass.y;
  for (int64_t first = 0; first < blocks; first += kChunk) {
    pass.first_block = first;
    pass.end_block = smaller(first + kChunk, blocks);
    pass.from_y = t.accumulate || first != 0;
    for (int64_t b = first; b < pass.end_block; ++b) {
      prefetch<Format::kRecordBytes>(pass.record + b * Format::kRecordBytes + kPrefetchAhead);
      unpack<Format>(t, pass.record, b, unpacked[b - first]);
      Panels::template prepare<Format>(unpacked[b - first]);
    }
    for (int64_t row = 0; row < t.rows; row += kPanel) {
      pass.x = t.xq.data + (row / kPanel * blocks + first) * (kPanel * kQuantBytes);
      pass.y = y + row * t.y_stride;
      Panels::template run<Format>(t, pass, unpacked, smaller(kPanel, t.rows - row));
    }
  }
}

Pass first_pass(const LinearTile& t, int64_t group) {
  Pass pass{};
  pass.record = t.weights + group * t.layout.group_bytes;
  pass.end_block = t.in / kBlock;
  pass.x = t.xq.data;
  pass.y = t.y + group * kLanes;
  pass.y_stride = t.y_stride;
  pass.outs = mask_of(t.outs - group * kLanes);
  pass.from_y = t.accumulate;
  pass.rows = t.rows;
  return pass;
}

// Rows in panels.
template <class Format, class Panels>
void run_panels(const LinearTile& t) {
  Panels::template begin<Format>();
  for (int64_t g = 0; g < t.groups; ++g) block_group<Format, Panels>(t, first_pass(t, g));
  Panels::end();
}

// Up to 8 rows: the weights go through registers once.
template <class Format>
void run_stream(const LinearTile& t) {
  for (int64_t g = 0; g < t.groups; ++g) {
    const Pass pass = first_pass(t, g);
    if (t.xq.height == 1) {
      run_pass<Format, 1, 1, false>(t, pass, nullptr);
    } else if (t.rows <= 2) {
      run_pass<Format, kPanel, 2, false>(t, pass, nullptr);
    } else if (t.rows <= 4) {
      run_pass<Format, kPanel, 4, false>(t, pass, nullptr);
    } else {
      run_pass<Format, kPanel, 8, false>(t, pass, nullptr);
    }
  }
}

}  // namespace
}  // namespace o3::kernels::cpu::avx512
