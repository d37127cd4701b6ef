// SPDX-License-Identifier: Apache-2.0
#include "engine/sampler.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "engine/philox.h"
#include "kernels/exp_nonpositive.h"

namespace o3::engine {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
// Passes work on blocks of independent lanes: compilers turn them into vector code without being
// allowed to reorder floating-point operations.
constexpr size_t kLanes = 16;
constexpr size_t kBlock = 64;
constexpr uint32_t kSignBit = 0x80000000U;

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

std::span<const float> block_of(std::span<const float> x, size_t block) {
  const size_t begin = block * kBlock;
  return x.subspan(begin, std::min(kBlock, x.size() - begin));
}

// NaN is never the largest.
float max_of(std::span<const float> x) {
  std::array<float, kLanes> best;
  best.fill(kNever);
  size_t i = 0;
  for (; i + kLanes <= x.size(); i += kLanes) {
    for (size_t l = 0; l < kLanes; ++l) best[l] = x[i + l] > best[l] ? x[i + l] : best[l];
  }
  float result = kNever;
  for (; i < x.size(); ++i) result = x[i] > result ? x[i] : result;
  for (const float lane : best) result = lane > result ? lane : result;
  return result;
}

// weights[i] = e^((logits[i] - max) / temperature)
void weigh(std::span<const float> logits, float max, float temperature, std::span<float> weights) {
  for (size_t i = 0; i < logits.size(); ++i) {
    weights[i] = kernels::exp_nonpositive((logits[i] - max) / temperature);
  }
}

float sum_of(std::span<const float> x) {
  std::array<float, kLanes> lanes{};
  size_t i = 0;
  for (; i + kLanes <= x.size(); i += kLanes) {
    for (size_t l = 0; l < kLanes; ++l) lanes[l] += x[i + l];
  }
  float sum = 0.0F;
  for (; i < x.size(); ++i) sum += x[i];
  for (const float lane : lanes) sum += lane;
  return sum;
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

// Radix selection: unsigned keys in the order of the values (NaN apart), and their digits.
uint32_t order_key(float value) {
  const auto bits = std::bit_cast<uint32_t>(value + 0.0F);  // -0 and 0 are one value
  return bits & kSignBit ? ~bits : bits | kSignBit;
}
struct Digit {
  int shift;
  int width;
};
constexpr std::array<Digit, 3> kDigits{{{21, 11}, {10, 11}, {0, 10}}};
constexpr size_t kHistogram = size_t{1} << 11;

Error no_finite_logit() {
  return Error{Code::kInternal, "the model gave no finite logit for an allowed token", {}};
}

}  // namespace

Sampler::Sampler(int32_t vocabulary)
    : block_max_((static_cast<size_t>(vocabulary) + kBlock - 1) / kBlock),
      weights_(static_cast<size_t>(vocabulary)),
      block_sums_(block_max_.size()),
      histogram_(kHistogram) {
  // One more than there can be: gather() also writes a value that does not count.
  kept_.items.resize(weights_.size() + 1);
  candidates_.items.resize(weights_.size() + 1);
}

Result<Token> Sampler::found(Token best) {
  if (best < 0) return no_finite_logit();
  return best;
}

Result<Token> Sampler::sample(std::span<float> logits, const SamplingParams& params,
                              std::span<const uint32_t> mask, uint32_t position) {
  apply_mask(logits, mask);
  for (size_t b = 0; b < block_max_.size(); ++b) block_max_[b] = max_of(block_of(logits, b));
  const float max = max_of(block_max_);
  if (!std::isfinite(max)) return no_finite_logit();
  if (is_greedy(params)) {
    const auto block = std::find(block_max_.begin(), block_max_.end(), max) - block_max_.begin();
    const auto from = logits.begin() + block * static_cast<ptrdiff_t>(kBlock);
    return static_cast<Token>(std::find(from, logits.end(), max) - logits.begin());
  }
  const PhiloxKey key{static_cast<uint32_t>(params.seed), static_cast<uint32_t>(params.seed >> 32)};
  const double u = unit_interval(philox4x32({position, params.choice, 0, 0}, key));
  if (params.top_k == 0 || static_cast<size_t>(params.top_k) >= logits.size()) {
    return draw_all(logits, max, params, u);
  }
  keep_top_k(logits, params.top_k);
  double total = 0.0;
  for (Ranked& token : kept_.view()) {
    token.value = kernels::exp_nonpositive((token.value - max) / params.temperature);
    total += token.value;
  }
  if (params.top_p < 1.0F) keep_nucleus(total, params.top_p);
  return draw_kept(u);
}

// Every values[i] >= bar, in order. Blocks whose bound is below the bar are not looked at; in the
// others, nothing branches on a value.
void Sampler::gather(std::span<const float> values, std::span<const float> bounds, float bar,
                     RankedList& out) {
  size_t count = 0;
  for (size_t block = 0; block < bounds.size(); ++block) {
    if (!(bounds[block] >= bar)) continue;
    const size_t begin = block * kBlock;
    const size_t end = std::min(values.size(), begin + kBlock);
    for (size_t i = begin; i < end; ++i) {
      out.items[count] = {values[i], static_cast<int32_t>(i)};
      count += values[i] >= bar ? 1U : 0U;
    }
  }
  out.count = count;
}

// The last of the smallest set of highest ranks, among candidates_, whose weights sum to `need` (of
// all of them, if they sum to less). Radix selection on the bits of the values, three digits from
// the top: after each, only the candidates with that digit remain.
template <class Weight>
Sampler::Ranked Sampler::cut(Weight weight, double need) {
  for (const auto& [shift, width] : kDigits) {
    const uint32_t digits = (1U << width) - 1U;
    const auto digit_of = [&, shift = shift](const Ranked& candidate) {
      return order_key(candidate.value) >> shift & digits;
    };
    std::fill_n(histogram_.begin(), digits + 1, 0.0);
    for (const Ranked& c : candidates_.view()) histogram_[digit_of(c)] += weight(c.value);
    uint32_t chosen = 0;
    for (uint32_t digit = digits + 1; digit-- > 0;) {
      if (histogram_[digit] <= 0.0) continue;
      chosen = digit;
      if (histogram_[digit] >= need) break;
      need -= histogram_[digit];
    }
    size_t count = 0;
    for (const Ranked c : candidates_.view()) {
      candidates_.items[count] = c;
      count += digit_of(c) == chosen ? 1U : 0U;
    }
    candidates_.count = count;
  }
  // What remains has one value; the lower index goes first.
  size_t last = 0;
  for (; last + 1 < candidates_.count; ++last) {
    need -= weight(candidates_.items[last].value);
    if (need <= 0.0) break;
  }
  return candidates_.items[last];
}

// kept_ = the k highest logits, or all that are allowed when those are fewer.
void Sampler::keep_top_k(std::span<const float> logits, int32_t k) {
  float bar = std::numeric_limits<float>::lowest();
  if (static_cast<size_t>(k) <= block_max_.size()) {
    // k blocks have a maximum of at least the k-th largest, so k tokens have.
    std::vector<float>& maxima = block_sums_;
    maxima = block_max_;
    std::nth_element(maxima.begin(), maxima.begin() + (k - 1), maxima.end(), std::greater<>());
    bar = std::max(bar, maxima[static_cast<size_t>(k) - 1]);
  }
  gather(logits, block_max_, bar, candidates_);
  const Ranked last = cut([](float) { return 1.0; }, k);
  gather(logits, block_max_, last.value, kept_);
  drop_below(last);
}

// Keeps the smallest set of highest ranks in kept_ whose weights sum to p * total.
void Sampler::keep_nucleus(double total, double p) {
  std::copy_n(kept_.items.begin(), kept_.count, candidates_.items.begin());
  candidates_.count = kept_.count;
  drop_below(cut([](float weight) { return double{weight}; }, p * total));
}

// Removes from kept_ what ranks after `last`.
void Sampler::drop_below(const Ranked& last) {
  size_t count = 0;
  for (const Ranked token : kept_.view()) {
    kept_.items[count] = token;
    const bool above = token.value > last.value;
    const bool tie = token.value == last.value && token.index <= last.index;
    count += static_cast<size_t>(above | tie);
  }
  kept_.count = count;
}

// Without top-k: weights over the whole vocabulary, their sums by block.
Token Sampler::draw_all(std::span<const float> logits, float max, const SamplingParams& params,
                        double u) {
  weigh(logits, max, params.temperature, weights_);
  double total = 0.0;
  for (size_t b = 0; b < block_sums_.size(); ++b) {
    block_sums_[b] = sum_of(block_of(weights_, b));
    total += block_sums_[b];
  }
  if (params.top_p < 1.0F) {
    // All weights below this bar together weigh less than (1 - p) * total: none is in the nucleus.
    const double bar = (1.0 - params.top_p) * total / static_cast<double>(weights_.size());
    gather(weights_, block_sums_, static_cast<float>(bar), kept_);
    keep_nucleus(total, params.top_p);
    return draw_kept(u);
  }
  double target = u * total;
  const size_t block = pick(
      block_sums_.size(), [&](size_t b) { return block_sums_[b]; }, target);
  const auto part = block_of(weights_, block);
  return static_cast<Token>(block * kBlock +
                            pick(
                                part.size(), [&](size_t i) { return part[i]; }, target));
}

Token Sampler::draw_kept(double u) const {
  double total = 0.0;
  for (const Ranked& token : kept_.view()) total += token.value;
  double target = u * total;
  const auto weight_at = [&](size_t i) { return kept_.items[i].value; };
  return kept_.items[pick(kept_.count, weight_at, target)].index;
}

}  // namespace o3::engine
