// SPDX-License-Identifier: Apache-2.0
// The quantised weight types of GGUF files (ggml-common.h and ggml-quants.c of ggml), in one form:
// 32 consecutive weights of a row, whatever the layout of the file's blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/exec.h"

namespace o3::kernels {

// weight[i] = d * scale[i / 16] * value(q[i]) + minimum. The minimum is m in types that store it,
// -m * min_scale[i / 16] in K types that have one, else nothing. d and m are F16.
struct WeightBlock {
  std::array<uint8_t, 32> q{};  // as stored; Q8_0: the signed quant with its top bit flipped
  uint16_t d = 0;
  uint16_t m = 0;
  std::array<int8_t, 2> scale{1, 1};  // equal in types with one scale per 32 weights
  std::array<uint8_t, 2> min_scale{};
};

enum class Minimum : uint8_t { kNone, kStored, kScaled };

struct BlockFormat {
  DType dtype;
  int32_t bits;        // of q
  int32_t bias;        // value(q) = q - bias, without a codebook
  int32_t scale_bits;  // of each of the sub-block scales: 0 where there is none
  int32_t sub_blocks;  // scales per 32 weights: 1 or 2
  Minimum minimum;
  const int8_t* codebook;  // value(q) = codebook[q], or null
  // Weights 32 * index to 32 * index + 31 of a file block, which holds
  // traits(dtype).block_elements.
  void (*read)(const std::byte* block, int64_t index, WeightBlock& to) noexcept;

  int32_t value(uint8_t q) const noexcept { return codebook != nullptr ? codebook[q] : q - bias; }
};

// Null for plain types.
const BlockFormat* block_format(DType dtype) noexcept;

// Weights 32 * index to 32 * index + 31 of a packed row.
WeightBlock read_block(const BlockFormat& format, const std::byte* row, int64_t index) noexcept;

}  // namespace o3::kernels
