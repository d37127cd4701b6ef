// SPDX-License-Identifier: Apache-2.0
// Frequencies of the RoPE scalings; expected values worked out by hand from their definitions.
#include "kernels/rope.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

namespace o3::kernels {
namespace {

RopeParams params(RopeScaling scaling) {
  return {.dim = 8,
          .base = 10000.0,
          .style = RopeStyle::kHalf,
          .max_positions = 64,
          .scaling = scaling,
          .divisors = {}};
}

struct Angles {
  std::array<float, 4> cos;
  std::array<float, 4> sin;
};
Angles angles(const RopeParams& from, int32_t position) {
  Angles result{};
  rope_angles(make_rope_table(from), position, result.cos, result.sin);
  return result;
}

// The two short tables give what one long table would, to the last bit of a float or so.
TEST(RopeTable, AnglesAreThoseOfALongTable) {
  RopeParams p = params({});
  p.max_positions = 1 << 20;
  const RopeTable table = make_rope_table(p);
  Angles found{};
  for (const int32_t position : {0, 1, 511, 512, 513, 8191, 131071, (1 << 20) - 1}) {
    rope_angles(table, position, found.cos, found.sin);
    for (size_t i = 0; i < 4; ++i) {
      const double angle = position * std::pow(10000.0, -static_cast<double>(i) / 4);
      EXPECT_NEAR(found.cos[i], std::cos(angle), 1e-7) << position << " " << i;
      EXPECT_NEAR(found.sin[i], std::sin(angle), 1e-7) << position << " " << i;
    }
  }
}

TEST(RopeTable, StaysSmallHoweverLongTheContext) {
  const RopeTable table = make_rope_table({.dim = 128, .max_positions = 131072});
  EXPECT_LE((table.coarse.size() + table.fine.size()) * sizeof(double), size_t{1} << 20U);
}

TEST(RopeScaling, NoneIsAGeometricSeries) {
  const auto f = rope_frequencies(params({}), 5);
  ASSERT_EQ(f.size(), 4U);
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(f[i], std::pow(0.1, i), 1e-15);
}

TEST(RopeScaling, DivisorsDivide) {
  RopeParams with = params({});
  with.divisors = {1.0F, 2.0F, 4.0F, 8.0F};
  const auto f = rope_frequencies(with, 0);
  EXPECT_NEAR(f[1], 0.05, 1e-15);
  EXPECT_NEAR(f[3], 0.001 / 8, 1e-15);
}

TEST(RopeScaling, LinearDividesAll) {
  const auto f = rope_frequencies(params({.kind = RopeScalingKind::kLinear, .factor = 4.0}), 0);
  EXPECT_NEAR(f[0], 0.25, 1e-15);
  EXPECT_NEAR(f[3], 0.00025, 1e-15);
}

TEST(RopeScaling, DynamicStretchesTheLongestWaveByTheExcess) {
  const RopeParams p =
      params({.kind = RopeScalingKind::kDynamic, .factor = 2.0, .original_positions = 16});
  EXPECT_EQ(rope_frequencies(p, 15), rope_frequencies(params({}), 0));
  // Length 32 of 16 at factor 2: stretch 2 * 2 - 1 = 3, for the last pair exactly.
  EXPECT_NEAR(rope_frequencies(p, 31)[3], 0.001 / 3, 1e-15);
  EXPECT_NEAR(rope_frequencies(p, 31)[0], 1.0, 1e-15);
  EXPECT_NEAR(angles(p, 31).sin[3], std::sin(31 * 0.001 / 3), 1e-8);
  EXPECT_NEAR(angles(p, 15).sin[3], std::sin(15 * 0.001), 1e-8);
}

TEST(RopeScaling, Llama3KeepsShortWavesAndSlowsLongOnes) {
  // Rotations within 8192 positions: 1303.8, 130.4, 13.04, 1.304.
  const auto f = rope_frequencies(params({.kind = RopeScalingKind::kLlama3,
                                          .factor = 8.0,
                                          .original_positions = 8192,
                                          .low_frequency = 2.0,
                                          .high_frequency = 20.0}),
                                  0);
  EXPECT_NEAR(f[1], 0.1, 1e-15);
  const double smooth = (8192 * 0.01 / (2 * std::numbers::pi) - 2.0) / 18.0;
  EXPECT_NEAR(f[2], (1 - smooth) * 0.01 / 8 + smooth * 0.01, 1e-15);
  EXPECT_NEAR(f[3], 0.001 / 8, 1e-15);
}

TEST(RopeScaling, YarnRampsBetweenRotationsAndHasAMagnitude) {
  RopeScaling scaling{.kind = RopeScalingKind::kYarn, .factor = 4.0, .original_positions = 8192};
  // Borders: log(8192 / 64pi) / log(10000) * 4 = 1.61 -> 1 and log(8192 / 2pi) ... = 3.11 -> 4.
  const auto f = rope_frequencies(params(scaling), 0);
  EXPECT_NEAR(f[1], 0.1, 1e-15);
  EXPECT_NEAR(f[2], 0.01 * (1.0 / 3 / 4 + 2.0 / 3), 1e-15);
  EXPECT_NEAR(f[3], 0.001 * (2.0 / 3 / 4 + 1.0 / 3), 1e-15);
  scaling.truncate = false;
  EXPECT_GT(rope_frequencies(params(scaling), 0)[2], f[2]);
  scaling.magnitude = yarn_magnitude(4.0);
  EXPECT_NEAR(scaling.magnitude, 1 + 0.1 * std::log(4.0), 1e-15);
  EXPECT_NEAR(angles(params(scaling), 0).cos[0], scaling.magnitude, 1e-7);
}

}  // namespace
}  // namespace o3::kernels
