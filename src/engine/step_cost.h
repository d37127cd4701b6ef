// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace o3::engine {

// How long a step takes, learnt from the steps that ran: time = base + slope * rows by least
// squares whose weights decay by step, so that it follows longer contexts and a busy machine.
class StepCost {
 public:
  void observe(int32_t rows, Nanoseconds took) noexcept;

  // Most rows whose predicted time stays within the target; 0 before the first observation, or
  // when nothing fits.
  int32_t rows_within(Nanoseconds target) const noexcept;

 private:
  // Decayed sums of 1, x, x^2, y, x y over (rows, seconds).
  double n_ = 0.0;
  double x_ = 0.0;
  double xx_ = 0.0;
  double y_ = 0.0;
  double xy_ = 0.0;
};

}  // namespace o3::engine
