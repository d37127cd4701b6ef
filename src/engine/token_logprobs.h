// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/request.h"

namespace o3::engine {

// Log probabilities of one row as the model gave it: before penalties, bias, mask and temperature.
// One per engine thread.
class LogprobReader {
 public:
  // Keeps a copy of the row, which the sampler overwrites.
  void read(std::span<const float> logits);

  // Of `token`, and the `top` likeliest (the lower id wins a tie).
  TokenLogprobs of(Token token, int32_t top) const;

 private:
  float log_probability(Token token) const {
    return row_[static_cast<size_t>(token)] - max_ - log_total_;
  }
  std::vector<RankedToken> likeliest(size_t count) const;

  std::vector<float> row_;
  float max_ = 0.0F;
  float log_total_ = 0.0F;  // of e^(logit - max)
};

}  // namespace o3::engine
