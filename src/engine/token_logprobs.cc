// SPDX-License-Identifier: Apache-2.0
#include "engine/token_logprobs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/exp_nonpositive.h"

namespace o3::engine {
namespace {

constexpr size_t kLanes = 16;

float largest(std::span<const float> row) {
  std::array<float, kLanes> best;
  best.fill(-std::numeric_limits<float>::infinity());
  size_t i = 0;
  for (; i + kLanes <= row.size(); i += kLanes) {
    for (size_t l = 0; l < kLanes; ++l) best[l] = row[i + l] > best[l] ? row[i + l] : best[l];
  }
  for (; i < row.size(); ++i) best[0] = row[i] > best[0] ? row[i] : best[0];
  return *std::max_element(best.begin(), best.end());
}

// Sums of 1024 in float, those in double: exact enough for a vocabulary of any size.
double total_weight(std::span<const float> row, float max) {
  constexpr size_t kBlock = 1024;
  double total = 0.0;
  for (size_t begin = 0; begin < row.size(); begin += kBlock) {
    const auto block = row.subspan(begin, std::min(kBlock, row.size() - begin));
    std::array<float, kLanes> lanes{};
    size_t i = 0;
    for (; i + kLanes <= block.size(); i += kLanes) {
      for (size_t l = 0; l < kLanes; ++l) {
        lanes[l] += kernels::exp_nonpositive(block[i + l] - max);
      }
    }
    for (; i < block.size(); ++i) lanes[0] += kernels::exp_nonpositive(block[i] - max);
    for (const float lane : lanes) total += lane;
  }
  return total;
}

}  // namespace

void LogprobReader::read(std::span<const float> logits) {
  row_.assign(logits.begin(), logits.end());
  max_ = largest(row_);
  log_total_ = static_cast<float>(std::log(total_weight(row_, max_)));
}

TokenLogprobs LogprobReader::of(Token token, int32_t top) const {
  const float own = row_[static_cast<size_t>(token)];
  const auto above = std::count_if(row_.begin(), row_.end(), [own](float x) { return x > own; });
  return {.logprob = log_probability(token),
          .rank = static_cast<int32_t>(above) + 1,
          .top = likeliest(static_cast<size_t>(std::max(top, 0)))};
}

// The list stays short and sorted; almost no entry of a row gets past its last.
std::vector<RankedToken> LogprobReader::likeliest(size_t count) const {
  std::vector<RankedToken> best;
  if (count == 0) return best;
  best.reserve(count + 1);
  float bar = -std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < row_.size(); ++i) {
    const float logit = row_[i];
    if (!(logit > bar)) continue;
    const auto place =
        std::upper_bound(best.begin(), best.end(), logit,
                         [](float x, const RankedToken& r) { return x > r.logprob; });
    best.insert(place, {static_cast<Token>(i), logit});
    if (best.size() > count) best.pop_back();
    if (best.size() == count) bar = best.back().logprob;
  }
  for (RankedToken& ranked : best) ranked.logprob = log_probability(ranked.token);
  return best;
}

}  // namespace o3::engine
