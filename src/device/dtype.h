// SPDX-License-Identifier: Apache-2.0
// Element and block types of tensors. Block types keep the layout of the GGUF file (ggml).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace o3::device {

// NOLINTBEGIN(readability-identifier-naming): the names are ggml's
enum class DType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kI8,
  kI32,
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
  kF8_E4M3,
};
// NOLINTEND(readability-identifier-naming)

// How elements of a dtype lie in memory: `block_elements` consecutive elements of a row take
// `block_bytes` bytes. Plain types have blocks of one element.
struct DTypeTraits {
  std::string_view name;  // as GGUF spells it: "F32", "Q4_1"
  int32_t block_elements;
  int32_t block_bytes;
  bool quantized;
};

const DTypeTraits& traits(DType dtype) noexcept;
std::optional<DType> dtype_from_name(std::string_view name) noexcept;

// Bytes of one row of `elements`; elements must be a multiple of block_elements.
int64_t row_bytes(DType dtype, int64_t elements) noexcept;

}  // namespace o3::device
