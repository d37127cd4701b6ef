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

// Packed weights: outputs in groups of `lanes`, one record of `group_bytes` per group. Missing
// outputs of the last group are zeros. Record of a block format, for block b of in/32:
//   quants + b * lanes * (16 or 32): words of 4 bytes [word][lane]. 4-bit types: byte t of word w
//     holds input 4w+t in its low and input 16+4w+t in its high half, w < 4. 8-bit types: byte t
//     of word w is input 4w+t, w < 8.
//   d_offset + b * lanes * 2: F16 scales [lane];  m_offset: F16 minima, where the type has them.
// Record of a plain format: [input][lane].
struct WeightLayout {
  int32_t lanes = 0;
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
// center, sum = scale * isum + 32 * center, and isum, the integer sum of q, each [height]. Rows
// missing from the last panel are not initialised.
struct QuantRows {
  uint8_t* data = nullptr;
  int32_t height = 0;  // 1 for a single row, else kPanel
};
inline constexpr int32_t kPanel = 16;
inline constexpr int64_t kQuantBytes = kBlock + 16;
inline constexpr int64_t kScaleAt = kBlock;  // times height, within a record
inline constexpr int64_t kCenterAt = kBlock + 4;
inline constexpr int64_t kSumAt = kBlock + 8;
inline constexpr int64_t kIsumAt = kBlock + 12;

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
//   integer kernels:  acc += d * (dot * scale + (sum of quants) * center);  acc += m * sum
//   FP32 kernels:     acc += w * x
using LinearTileFn = void (*)(const LinearTile&);

// Quantises one row of `in` (a multiple of 32) values into row `row` of its panel.
using QuantizeRowFn = void (*)(const float* x, int64_t in, const QuantRows& panel, int64_t row);

namespace generic {
void quantize_row(const float* x, int64_t in, const QuantRows& panel, int64_t row);
void linear_q4_0(const LinearTile& tile);
void linear_q4_1(const LinearTile& tile);
void linear_q8_0(const LinearTile& tile);
void linear_q4_0_f32(const LinearTile& tile);
void linear_q4_1_f32(const LinearTile& tile);
void linear_q8_0_f32(const LinearTile& tile);
void linear_f32(const LinearTile& tile);
void linear_f16(const LinearTile& tile);
void linear_bf16(const LinearTile& tile);
}  // namespace generic
namespace avx2 {
void quantize_row(const float* x, int64_t in, const QuantRows& panel, int64_t row);
void linear_q4_0(const LinearTile& tile);
void linear_q4_1(const LinearTile& tile);
void linear_q8_0(const LinearTile& tile);
void linear_q4_0_f32(const LinearTile& tile);
void linear_q4_1_f32(const LinearTile& tile);
void linear_q8_0_f32(const LinearTile& tile);
void linear_f32(const LinearTile& tile);
void linear_f16(const LinearTile& tile);
void linear_bf16(const LinearTile& tile);
}  // namespace avx2
namespace avx512 {
void quantize_row(const float* x, int64_t in, const QuantRows& panel, int64_t row);
void linear_q4_0(const LinearTile& tile);
void linear_q4_1(const LinearTile& tile);
void linear_q8_0(const LinearTile& tile);
void linear_q4_0_f32(const LinearTile& tile);
void linear_q4_1_f32(const LinearTile& tile);
void linear_q8_0_f32(const LinearTile& tile);
void linear_f32(const LinearTile& tile);
void linear_f16(const LinearTile& tile);
void linear_bf16(const LinearTile& tile);
}  // namespace avx512
namespace amx {
void linear_q4_0(const LinearTile& tile);
void linear_q4_1(const LinearTile& tile);
void linear_q8_0(const LinearTile& tile);
}  // namespace amx

}  // namespace o3::kernels::cpu
