// SPDX-License-Identifier: Apache-2.0
// Integer products on AVX-512 VNNI: 16 outputs per register, up to 8 rows at a time; and the frame
// that AMX shares. Only for ISA files (see linear_tile.h), hence the anonymous namespace.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/isa_code.h"
#include "kernels/cpu/linear_tile.h"

namespace o3::kernels::cpu::avx512 {
namespace {  // NOLINT: each ISA file must get its own copy

constexpr int kLanes = 16;
constexpr int kMaxRows = 8;
// Blocks whose weights are unpacked at once for more than kMaxRows rows: with the activations of
// one panel they stay in a 48 KiB L1 cache.
constexpr int64_t kChunk = 32;
constexpr int kWords = 8;  // registers of 16 lanes x 4 inputs that make a block

// One block of 16 outputs, ready for VNNI: unsigned bytes, the sum of the quants (less their bias),
// scale and minimum.
struct Block {
  __m512i words[kWords];
  __m512 total;
  __m512 d;
  __m512 m;
};

O3_INLINE __m512 load_halves(const uint8_t* at) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
}

O3_INLINE void unpack_nibbles(const uint8_t* quants, Block& block) {
  const __m512i low = _mm512_set1_epi8(0x0f);
  O3_UNROLL
  for (int j = 0; j < kWords / 2; ++j) {
    const __m512i both = _mm512_loadu_si512(quants + 64 * j);
    block.words[j] = _mm512_and_si512(both, low);
    block.words[j + kWords / 2] = _mm512_and_si512(_mm512_srli_epi16(both, 4), low);
  }
}

// Sum of the bytes of each lane, less kBlock times the bias.
template <int kBias>
O3_INLINE __m512 sum_words(const __m512i* words) {
  const __m512i ones = _mm512_set1_epi8(1);
  __m512i even = _mm512_set1_epi32(-kBias * static_cast<int>(kBlock));
  __m512i odd = _mm512_setzero_si512();
  O3_UNROLL
  for (int j = 0; j < kWords; j += 2) {
    even = _mm512_dpbusd_epi32(even, words[j], ones);
    odd = _mm512_dpbusd_epi32(odd, words[j + 1], ones);
  }
  return _mm512_cvtepi32_ps(_mm512_add_epi32(even, odd));
}

// weight = d * (byte - kBias) + m. The bias is taken off exactly, in integers.
struct Nibbles0 {                                   // Q4_0
  static constexpr int kRecordBytes = kLanes * 18;  // per block
  static constexpr int kBias = 8;
  static constexpr bool kMinimum = false;
  O3_INLINE static void unpack(const LinearTile& t, const uint8_t* record, int64_t b,
                               Block& block) {
    unpack_nibbles(record + b * (kLanes * 16), block);
    block.total = sum_words<kBias>(block.words);
    block.d = load_halves(record + t.layout.d_offset + b * (kLanes * 2));
    block.m = _mm512_setzero_ps();
  }
};
struct Nibbles1 {                                   // Q4_1
  static constexpr int kRecordBytes = kLanes * 20;  // per block
  static constexpr int kBias = 0;
  static constexpr bool kMinimum = true;
  O3_INLINE static void unpack(const LinearTile& t, const uint8_t* record, int64_t b,
                               Block& block) {
    unpack_nibbles(record + b * (kLanes * 16), block);
    block.total = sum_words<kBias>(block.words);
    block.d = load_halves(record + t.layout.d_offset + b * (kLanes * 2));
    block.m = load_halves(record + t.layout.m_offset + b * (kLanes * 2));
  }
};
struct Bytes8 {                                     // Q8_0, packed with the bias
  static constexpr int kRecordBytes = kLanes * 34;  // per block
  static constexpr int kBias = 128;
  static constexpr bool kMinimum = false;
  O3_INLINE static void unpack(const LinearTile& t, const uint8_t* record, int64_t b,
                               Block& block) {
    const uint8_t* quants = record + b * (kLanes * 32);
    O3_UNROLL
    for (int j = 0; j < kWords; ++j) block.words[j] = _mm512_loadu_si512(quants + 64 * j);
    block.total = sum_words<kBias>(block.words);
    block.d = load_halves(record + t.layout.d_offset + b * (kLanes * 2));
    block.m = _mm512_setzero_ps();
  }
};

// Where one pass over some blocks of some rows reads and writes.
struct Pass {
  const uint8_t* record;  // packed weights of the group
  const Block* unpacked;  // or their unpacked form, from first_block on
  int64_t first_block;
  int64_t end_block;
  const uint8_t* x;   // panel record of first_block
  int64_t first_row;  // within the panel
  float* y;
  int64_t y_stride;
  __mmask16 outs;
  bool from_y;  // sums start from y, else from 0
};

// acc += the exact dot products of one row, scaled. `scale` points at the row's scale.
template <class Format, int kHeight>
O3_INLINE void add_dot(const Block& block, __m512i dot, const float* scale, __m512& acc) {
  const float* center = scale + kHeight;
  const float* sum = scale + 2 * kHeight;
  const __m512 shifted = _mm512_mul_ps(block.total, _mm512_set1_ps(*center));
  const __m512 product = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot), _mm512_set1_ps(*scale), shifted);
  acc = _mm512_fmadd_ps(block.d, product, acc);
  if (Format::kMinimum) acc = _mm512_fmadd_ps(block.m, _mm512_set1_ps(*sum), acc);
}

template <class Format, int kHeight, int kRows>
O3_INLINE void add_block(const Block& block, const uint8_t* x, int64_t first_row, __m512* acc) {
  const uint8_t* rows = x + first_row * kBlock;
  const auto* scales = reinterpret_cast<const float*>(x + kHeight * kScaleAt) + first_row;
  const auto* isums = reinterpret_cast<const int32_t*>(scales + 3 * kHeight);
  O3_UNROLL
  for (int r = 0; r < kRows; ++r) {
    const auto* q = reinterpret_cast<const int32_t*>(rows + r * kBlock);
    __m512i dot = _mm512_setzero_si512();
    if (Format::kBias != 0) dot = _mm512_set1_epi32(-Format::kBias * isums[r]);
    O3_UNROLL
    for (int j = 0; j < kWords; ++j) {
      dot = _mm512_dpbusd_epi32(dot, block.words[j], _mm512_set1_epi32(q[j]));
    }
    add_dot<Format, kHeight>(block, dot, scales + r, acc[r]);
  }
}

template <class Format, int kHeight, int kRows, bool kUnpacked>
void run_pass(const LinearTile& t, const Pass& pass) {
  __m512 acc[kRows];
  O3_UNROLL
  for (int r = 0; r < kRows; ++r) {
    acc[r] = pass.from_y ? _mm512_maskz_loadu_ps(pass.outs, pass.y + r * pass.y_stride)
                         : _mm512_setzero_ps();
  }
  const uint8_t* x = pass.x;
  for (int64_t b = pass.first_block; b < pass.end_block; ++b, x += kHeight * kQuantBytes) {
    if (kUnpacked) {
      add_block<Format, kHeight, kRows>(pass.unpacked[b - pass.first_block], x, pass.first_row,
                                        acc);
    } else {
      prefetch<Format::kRecordBytes>(pass.record + b * Format::kRecordBytes + kPrefetchAhead);
      Block block;
      Format::unpack(t, pass.record, b, block);
      add_block<Format, kHeight, kRows>(block, x, pass.first_row, acc);
    }
  }
  O3_UNROLL
  for (int r = 0; r < kRows; ++r) {
    _mm512_mask_storeu_ps(pass.y + r * pass.y_stride, pass.outs, acc[r]);
  }
}

template <class Format, bool kUnpacked>
void run_rows(const LinearTile& t, const Pass& pass, int64_t rows) {
  constexpr int kH = kPanel;
  switch (rows) {
    case 1:
      return run_pass<Format, kH, 1, kUnpacked>(t, pass);
    case 2:
      return run_pass<Format, kH, 2, kUnpacked>(t, pass);
    case 3:
      return run_pass<Format, kH, 3, kUnpacked>(t, pass);
    case 4:
      return run_pass<Format, kH, 4, kUnpacked>(t, pass);
    case 5:
      return run_pass<Format, kH, 5, kUnpacked>(t, pass);
    case 6:
      return run_pass<Format, kH, 6, kUnpacked>(t, pass);
    case 7:
      return run_pass<Format, kH, 7, kUnpacked>(t, pass);
    default:
      return run_pass<Format, kH, 8, kUnpacked>(t, pass);
  }
}

__mmask16 mask_of(int64_t outs) {
  return outs >= kLanes ? static_cast<__mmask16>(0xffff)
                        : static_cast<__mmask16>((1U << static_cast<unsigned>(outs)) - 1U);
}

int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

// Up to kMaxRows rows: weights go through registers once.
template <class Format>
void stream_group(const LinearTile& t, Pass pass) {
  pass.end_block = t.in / kBlock;
  pass.x = t.xq.data;
  if (t.xq.height == 1) {
    run_pass<Format, 1, 1, false>(t, pass);
  } else {
    run_rows<Format, false>(t, pass, t.rows);
  }
}

// Rows of one panel by VNNI.
struct VnniPanels {
  static void begin() {}
  static void end() {}
  template <class Format>
  static void run(const LinearTile& t, Pass pass, int64_t rows) {
    float* const y = pass.y;
    for (int64_t row = 0; row < rows; row += kMaxRows) {
      pass.first_row = row;
      pass.y = y + row * t.y_stride;
      run_rows<Format, true>(t, pass, smaller(kMaxRows, rows - row));
    }
  }
};

// Many rows: unpack a chunk of blocks, then run it over all panels.
template <class Format, class Panels>
void block_group(const LinearTile& t, Pass pass) {
  Block unpacked[kChunk];
  const int64_t blocks = t.in / kBlock;
  float* const y = pass.y;
  for (int64_t first = 0; first < blocks; first += kChunk) {
    pass.first_block = first;
    pass.end_block = smaller(first + kChunk, blocks);
    pass.unpacked = unpacked;
    pass.from_y = t.accumulate || first != 0;
    for (int64_t b = first; b < pass.end_block; ++b) {
      Format::unpack(t, pass.record, b, unpacked[b - first]);
    }
    for (int64_t row = 0; row < t.rows; row += kPanel) {
      pass.x = t.xq.data + (row / kPanel * blocks + first) * (kPanel * kQuantBytes);
      pass.y = y + row * t.y_stride;
      Panels::template run<Format>(t, pass, smaller(kPanel, t.rows - row));
    }
  }
}

template <class Format, class Panels>
void run(const LinearTile& t) {
  if (t.rows > kMaxRows) Panels::begin();
  for (int64_t g = 0; g < t.groups; ++g) {
    Pass pass{};
    pass.record = t.weights + g * t.layout.group_bytes;
    pass.y = t.y + g * kLanes;
    pass.y_stride = t.y_stride;
    pass.outs = mask_of(t.outs - g * kLanes);
    pass.from_y = t.accumulate;
    if (t.rows <= kMaxRows) {
      stream_group<Format>(t, pass);
    } else {
      block_group<Format, Panels>(t, pass);
    }
  }
  if (t.rows > kMaxRows) Panels::end();
}

}  // namespace
}  // namespace o3::kernels::cpu::avx512
