// SPDX-License-Identifier: Apache-2.0
// Overflow-checked arithmetic for sizes that come from outside.
#pragma once

#include <cstdint>
#include <optional>

namespace o3 {

inline std::optional<uint64_t> checked_add(uint64_t a, uint64_t b) noexcept {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

inline std::optional<uint64_t> checked_mul(uint64_t a, uint64_t b) noexcept {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// value rounded up to a multiple of step (a power of two).
constexpr int64_t round_up(int64_t value, int64_t step) noexcept {
  return (value + step - 1) & ~(step - 1);
}

}  // namespace o3
