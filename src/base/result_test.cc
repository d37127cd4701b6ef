// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/bytes.h"

namespace o3 {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return invalid("odd", "value");
  return value / 2;
}

Result<int> quarter(int value) {
  O3_ASSIGN(const int once, half(value));
  O3_ASSIGN(const int twice, half(once));
  return twice;
}

Result<void> check_half(int value) {
  O3_TRY(half(value));
  return {};
}

TEST(Result, PropagatesTheFirstErrorWithItsParam) {
  EXPECT_EQ(*quarter(8), 2);
  const auto failed = quarter(6);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, Code::kInvalid);
  EXPECT_EQ(failed.error().param, "value");
  EXPECT_TRUE(check_half(4).ok());
  EXPECT_FALSE(check_half(3).ok());
}

TEST(Result, CarriesMoveOnlyValues) {
  Result<std::unique_ptr<int>> made(std::make_unique<int>(7));
  std::unique_ptr<int> taken = *std::move(made);
  EXPECT_EQ(*taken, 7);
}

TEST(ResultDeathTest, ReadingTheWrongSideAborts) {
  EXPECT_DEATH(static_cast<void>(*half(3)), "broken invariant");
  EXPECT_DEATH(static_cast<void>(half(2).error()), "broken invariant");
}

TEST(Bytes, CheckedArithmeticSeesOverflow) {
  EXPECT_EQ(checked_mul(1u << 20, 1u << 20), uint64_t{1} << 40);
  EXPECT_FALSE(checked_mul(uint64_t{1} << 63, 2).has_value());
  EXPECT_FALSE(checked_add(UINT64_MAX, 1).has_value());
  EXPECT_EQ(round_up(65, 64), 128);
}

}  // namespace
}  // namespace o3
