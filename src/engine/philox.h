// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10: a counter-based random generator (Salmon et al., "Parallel Random Numbers: As Easy
// as 1, 2, 3", SC 2011). A pure function of counter and key: no state to share, save or race on.
#pragma once

#include <array>
#include <cstdint>

namespace o3::engine {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

constexpr PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key) noexcept {
  constexpr int kRounds = 10;
  constexpr std::array<uint64_t, 2> kMultipliers{0xD2511F53, 0xCD9E8D57};
  constexpr std::array<uint32_t, 2> kWeyl{0x9E3779B9, 0xBB67AE85};  // golden ratio, sqrt(3) - 1
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t a = kMultipliers[0] * counter[0];
    const uint64_t b = kMultipliers[1] * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key = {key[0] + kWeyl[0], key[1] + kWeyl[1]};
  }
  return counter;
}

// Uniform in [0, 1), 53 bits, from the first two words.
constexpr double unit_interval(const PhiloxCounter& words) noexcept {
  const uint64_t bits = (uint64_t{words[0]} << 32 | words[1]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace o3::engine
