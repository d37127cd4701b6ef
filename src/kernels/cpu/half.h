// SPDX-License-Identifier: Apache-2.0
// IEEE binary16 and bfloat16 in plain C++, for code compiled for the x86-64 baseline. Not for the
// files that are compiled for a stronger ISA (see linear_tile.h for why).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace o3::kernels::cpu {

inline float half_to_float(uint16_t half) noexcept {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16U;
  const uint32_t rest = static_cast<uint32_t>(half & 0x7fffU) << 13U;
  if (rest >= 0x0f800000U) return std::bit_cast<float>(sign | 0x7f800000U | rest);  // inf, NaN
  // The exponent is re-biased by a multiplication, which also normalises subnormals.
  return std::bit_cast<float>(sign |
                              std::bit_cast<uint32_t>(std::bit_cast<float>(rest) * 0x1p112F));
}

// Rounds to nearest even; overflows to infinity.
inline uint16_t float_to_half(float value) noexcept {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16U) & 0x8000U;
  uint32_t rest = bits & 0x7fffffffU;
  if (rest > 0x7f800000U) return static_cast<uint16_t>(sign | 0x7e00U);   // NaN
  if (rest >= 0x477ff000U) return static_cast<uint16_t>(sign | 0x7c00U);  // 65520 and above
  if (rest < 0x38800000U) {  // below 2^-14: adding 1/2 rounds to multiples of 2^-24
    const float shifted = std::bit_cast<float>(rest) + 0.5F;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000U));
  }
  rest += 0xfffU + ((rest >> 13U) & 1U);
  return static_cast<uint16_t>(sign | ((rest - 0x38000000U) >> 13U));
}

inline float bfloat_to_float(uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16U);
}

inline float load_half(const void* from) noexcept {
  uint16_t half = 0;
  std::memcpy(&half, from, sizeof half);
  return half_to_float(half);
}

}  // namespace o3::kernels::cpu
