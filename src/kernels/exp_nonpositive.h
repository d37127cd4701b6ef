// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace o3::kernels {

// e^t for t <= 0, relative error below 3e-7; 0 below e^-87 and for NaN. The same bits on every
// machine. Branch-free, so that loops over it become vector code (with -fno-trapping-math, for the
// comparison): t = n ln 2 + r, e^r by its series to r^7, 2^n by the exponent bits.
inline float exp_nonpositive(float t) noexcept {
  constexpr float kFloor = -87.0F;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  constexpr float kLn2High = 0.693359375F;
  constexpr float kLn2Low = -2.12194440e-4F;
  const float x = t > kFloor ? t : kFloor;
  const float n = (x * 1.44269504F + kRound) - kRound;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float p = 1.0F / 5040.0F;
  p = p * r + 1.0F / 720.0F;
  p = p * r + 1.0F / 120.0F;
  p = p * r + 1.0F / 24.0F;
  p = p * r + 1.0F / 6.0F;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const float scale = std::bit_cast<float>((static_cast<int32_t>(n) + 127) << 23);
  const uint32_t keep = t > kFloor ? UINT32_MAX : 0U;  // a bit mask, since a select would branch
  return std::bit_cast<float>(std::bit_cast<uint32_t>(p * scale) & keep);
}

}  // namespace o3::kernels
