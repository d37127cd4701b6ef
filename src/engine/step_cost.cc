// SPDX-License-Identifier: Apache-2.0
#include "engine/step_cost.h"

#include <algorithm>

namespace o3::engine {
namespace {
constexpr double kDecay = 0.95;  // about the last 20 steps count
constexpr int32_t kMostRows = 1 << 20;
}  // namespace

void StepCost::observe(int32_t rows, Nanoseconds took) noexcept {
  if (rows <= 0) return;
  const double x = rows;
  const double y = std::chrono::duration<double>(took).count();
  n_ = kDecay * n_ + 1.0;
  x_ = kDecay * x_ + x;
  xx_ = kDecay * xx_ + x * x;
  y_ = kDecay * y_ + y;
  xy_ = kDecay * xy_ + x * y;
}

int32_t StepCost::rows_within(Nanoseconds target) const noexcept {
  if (n_ <= 0.0) return 0;
  // With steps of one size only, or a fit that makes no sense (noise), take time as proportional:
  // too careful, since it forgets the base, and the next steps then tell more.
  double base = 0.0;
  double slope = xy_ / xx_;
  const double spread = n_ * xx_ - x_ * x_;
  if (spread > 1e-3 * n_ * xx_) {
    const double fitted = (n_ * xy_ - x_ * y_) / spread;
    const double intercept = (y_ - fitted * x_) / n_;
    if (fitted > 0.0 && intercept >= 0.0) {
      slope = fitted;
      base = intercept;
    }
  }
  if (slope <= 0.0) return kMostRows;  // a clock that stood still
  const double rows = (std::chrono::duration<double>(target).count() - base) / slope;
  return static_cast<int32_t>(std::clamp(rows, 0.0, static_cast<double>(kMostRows)));
}

}  // namespace o3::engine
