// SPDX-License-Identifier: Apache-2.0
#include "kernels/exp_nonpositive.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace o3::kernels {
namespace {

TEST(ExpNonpositive, IsCloseToTheRealOne) {
  EXPECT_EQ(exp_nonpositive(0.0F), 1.0F);
  for (float t = 0.0F; t > -87.0F; t -= 0.00137F) {
    const double exact = std::exp(static_cast<double>(t));
    ASSERT_NEAR(exp_nonpositive(t) / exact, 1.0, 3e-7) << t;
  }
}

TEST(ExpNonpositive, IsZeroBelowItsFloorAndForNan) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const float t : {-87.0F, -88.0F, -1e30F, -kInf, std::numeric_limits<float>::quiet_NaN(),
                        -std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(exp_nonpositive(t), 0.0F) << t;
  }
}

}  // namespace
}  // namespace o3::kernels
