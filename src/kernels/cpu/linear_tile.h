// SPDX-License-Identifier: Apache-2.0
// What the CPU matrix kernels get: plain data and raw pointers.
//
// Rule for every file compiled with ISA flags (*_avx2.cc, *_avx512.cc, *_amx.cc): include only
// headers like this one (no inline functions) and intrinsics, and keep all code in an anonymous
// namespace but for the entry points. An inline function of the standard library or of ours,
// compiled there, could be the copy the linker keeps for the whole program, which then dies with
// SIGILL on a weaker machine.
#pragma once

#include <cstdint>

namespace o3::kernels::cpu {

// Quantised weight types and activations share blocks of 32 consecutive inputs.
inline constexpr int64_t kBlock = 32;

// A block whose activations span less than twice this is taken as constant: its inverse scale would
// overflow.
inline constexpr float kTinySpan = 1e-30F;

// NOLINTBEGIN(readability-identifier-naming): the names are ggml's
enum class WeightFormat : uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
};
// NOLINTEND(readability-identifier-naming)

// Packed weights: outputs in groups of `lanes`, one record of `group_bytes` per group. Missing
// outputs of the last group are zeros.
//
// Record of a plain format: [input][lane].
//
// Record of a block format: chunks of `chunk_blocks` blocks (all blocks of the row; 8, which share
// d and m, in K formats). A chunk has planes, one after the other, for its block b:
//   quants      words of 4 bytes [word][lane]. 8 bits: byte t of word w is input 4w + t, w < 8.
//               4 bits: the low half of byte t of word w is input 4w + t, the high half input
//               16 + 4w + t, w < 4. 2 bits: bits 2k and 2k+1 of byte t of word w are input
//               16w + 4k + t, w < 2.
//   high bits   2 bits: as above. 1 bit: bit k of byte t of one word [lane] is input 4k + t.
//   scales      bytes [scale][lane], one or two per block;  min scales: bytes [lane]
//   d, m        F16 [lane], one per block, or per chunk in K formats
// Formats lack the planes they have no use for. IQ4_NL's quants are indices of its codebook. Q2_K's
// scales hold the scale in their low, the min scale in their high half.
struct WeightLayout {
  int32_t lanes = 0;
  int64_t chunk_blocks = 0;
  int64_t chunk_bytes = 0;
  int64_t high_offset = 0;
  int64_t scale_offset = 0;
  int64_t min_scale_offset = 0;
  int64_t d_offset = 0;
  int64_t m_offset = 0;
  int64_t group_bytes = 0;
};

// Activation rows in int8, x = center + scale * q per block, q in [-127, 127]. The middle of the
// block's range as center, rather than zero, halves what rounding adds to a model's perplexity (on
// SmolLM2-135M 0.11 % instead of 0.25 %).
//
// Rows lie in panels of `height` rows, so that a kernel reaches all rows of a panel from one
// pointer; a panel is in/32 records of height * kQuantBytes bytes: q [height][32], then scale,
// center, sum = scale * (i0 + i1) + 32 * center, and isums = {i0, i1}, the sums of the first and
// last 16 q in int16, each [height]. Rows missing from the last panel are not initialised.
struct QuantRows {
  uint8_t* data = nullptr;
  int32_t height = 0;  // 1 for a single row, else kPanel
};
inline constexpr int32_t kPanel = 16;
inline constexpr int64_t kQuantBytes = kBlock + 16;
inline constexpr int64_t kScaleAt = kBlock;  // times height, within a record
inline constexpr int64_t kCenterAt = kBlock + 4;
inline constexpr int64_t kSumAt = kBlock + 8;
inline constexpr int64_t kIsumsAt = kBlock + 12;

// A rectangle of the product: some groups of outputs for some rows.
struct LinearTile {
  WeightLayout layout;
  const uint8_t* weights = nullptr;  // record of the first group
  int64_t groups = 0;
  int64_t outs = 0;  // outputs that exist among groups * lanes
  int64_t in = 0;
  int64_t rows = 0;
  const float* x = nullptr;  // [rows][in], x_stride floats apart; for the FP32 kernels
  int64_t x_stride = 0;
  QuantRows xq{};      // for the integer kernels; starts at a panel
  float* y = nullptr;  // [rows][outs], y_stride floats apart
  int64_t y_stride = 0;
  bool accumulate = false;
};

// For each output and row, every kernel of one ISA computes the same sequence of roundings whatever
// the number of rows: start from 0 or y, then the blocks (or inputs) in ascending order:
//   integer kernels, one scale per block:
//     acc += d * (dot * scale + (sum of quants) * center);  acc += m * sum
//   two per block, where the minima are m * k0 and m * k1, and W is the sum of the weights:
//     acc += (d0 * dot0 + (m * (k0 * i0 + k1 * i1) + d1 * dot1)) * scale;  acc += W * center
//   FP32 kernels:     acc += w * x
using LinearTileFn = void (*)(const LinearTile&);

// Quantises one row of `in` (a multiple of 32) values into row `row` of its panel.
using QuantizeRowFn = void (*)(const float* x, int64_t in, const QuantRows& panel, int64_t row);

// The kernels of an ISA: integer kernels (null for plain formats) and FP32 kernels.
namespace generic {
void quantize_row(const float* x, int64_t in, const QuantRows& panel, int64_t row);
LinearTileFn int8_kernel(WeightFormat format);
LinearTileFn f32_kernel(WeightFormat format);
}  // namespace generic
namespace avx2 {
void quantize_row(const float* x, int64_t in, const QuantRows& panel, int64_t row);
LinearTileFn int8_kernel(WeightFormat format);
LinearTileFn f32_kernel(WeightFormat format);
}  // namespace avx2
namespace avx512 {
void quantize_row(const float* x, int64_t in, const QuantRows& panel, int64_t row);
LinearTileFn int8_kernel(WeightFormat format);
LinearTileFn f32_kernel(WeightFormat format);
}  // namespace avx512
namespace amx {  // rows in panels only
LinearTileFn int8_kernel(WeightFormat format);
}  // namespace amx

}  // namespace o3::kernels::cpu
