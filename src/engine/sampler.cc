// SPDX-License-Identifier: Apache-2.0
#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/philox.h"

namespace o3::engine {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

void apply_mask(std::span<float> logits, std::span<const uint32_t> mask) {
  for (size_t word = 0; word < mask.size(); ++word) {
    const uint32_t bits = mask[word];
    if (bits == UINT32_MAX) continue;
    const size_t end = std::min(logits.size(), (word + 1) * 32);
    for (size_t i = word * 32; i < end; ++i) {
      if ((bits >> (i % 32) & 1U) == 0) logits[i] = kNever;
    }
  }
}

// The first of `count` weights whose running sum exceeds `target`. Rounding may leave a target at
// the very end unmet; the last with a weight takes it.
template <class WeightAt>
size_t pick(size_t count, WeightAt weight_at, double& target) {
  size_t last = 0;
  for (size_t i = 0; i < count; ++i) {
    const float weight = weight_at(i);
    if (weight <= 0.0F) continue;
    last = i;
    if (target < weight) break;
    target -= weight;
  }
  return last;
}

Error no_finite_logit() {
  return Error{Code::kInternal, "the model gave no finite logit for an allowed token", {}};
}

}  // namespace

Result<Token> Sampler::found(Token best) {
  if (best < 0) return no_finite_logit();
  return best;
}

Result<Token> Sampler::sample(std::span<float> logits, const SamplingParams& params,
                              std::span<const uint32_t> mask, uint32_t position) {
  apply_mask(logits, mask);
  const float max = truncation_.scan(logits);
  if (!std::isfinite(max)) return no_finite_logit();
  if (is_greedy(params)) return truncation_.lowest_of(logits, max);
  truncation_.run(logits, max, params);
  const PhiloxKey key{static_cast<uint32_t>(params.seed), static_cast<uint32_t>(params.seed >> 32)};
  return draw(unit_interval(philox4x32({position, params.choice, 0, 0}, key)));
}

Token Sampler::draw(double u) const {
  double total = 0.0;
  if (!truncation_.everything()) {
    const auto kept = truncation_.kept();
    for (const Candidate& token : kept) total += token.value;
    double target = u * total;
    return kept[pick(
                    kept.size(), [&](size_t i) { return kept[i].value; }, target)]
        .index;
  }
  const auto sums = truncation_.block_sums();
  for (const float sum : sums) total += sum;
  double target = u * total;
  const size_t block = pick(
      sums.size(), [&](size_t b) { return sums[b]; }, target);
  const size_t begin = block * Truncation::kBlock;
  const auto weights = truncation_.weights().subspan(begin);
  const size_t count = std::min(Truncation::kBlock, weights.size());
  return static_cast<Token>(begin + pick(
                                        count, [&](size_t i) { return weights[i]; }, target));
}

}  // namespace o3::engine
