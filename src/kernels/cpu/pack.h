// SPDX-License-Identifier: Apache-2.0
// Repacks weight rows from file layout to the record layout of linear_tile.h.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/cpu/linear_tile.h"
#include "kernels/exec.h"

namespace o3::kernels::cpu {

enum class SignedBytes : uint8_t {
  kAsIs,
  kBiased,  // 8-bit quants stored as q + 128, for instructions that take them unsigned
};

// Layout of the records for `in` inputs, a multiple of the dtype's block.
WeightLayout weight_layout(DType dtype, int64_t in, int32_t lanes) noexcept;

// Writes groups [first, first + count) to `to` (first group's record). rows[i] is output i.
void pack_groups(DType dtype, int64_t in, const WeightLayout& layout, SignedBytes bytes,
                 std::span<const std::byte* const> rows, int64_t first, int64_t count,
                 std::byte* to) noexcept;

}  // namespace o3::kernels::cpu
