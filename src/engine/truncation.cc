// SPDX-License-Identifier: Apache-2.0
#include "engine/truncation.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "kernels/exp_nonpositive.h"

namespace o3::engine {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
// Passes work on blocks of independent lanes: compilers turn them into vector code without being
// allowed to reorder floating-point operations.
constexpr size_t kLanes = 16;
constexpr uint32_t kSignBit = 0x80000000U;

template <class T>
std::span<T> block_of(std::span<T> x, size_t block) {
  const size_t begin = block * Truncation::kBlock;
  return x.subspan(begin, std::min(Truncation::kBlock, x.size() - begin));
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

}  // namespace

Truncation::Truncation(int32_t vocabulary)
    : block_max_((static_cast<size_t>(vocabulary) + kBlock - 1) / kBlock),
      weights_(static_cast<size_t>(vocabulary)),
      block_sums_(block_max_.size()),
      histogram_(kHistogram) {
  // One more than there can be: gather() also writes a value that does not count.
  kept_.items.resize(weights_.size() + 1);
  candidates_.items.resize(weights_.size() + 1);
}

float Truncation::scan(std::span<const float> logits) {
  for (size_t b = 0; b < block_max_.size(); ++b) block_max_[b] = max_of(block_of(logits, b));
  return max_of(block_max_);
}

Token Truncation::lowest_of(std::span<const float> logits, float max) const {
  const auto block = std::find(block_max_.begin(), block_max_.end(), max) - block_max_.begin();
  const auto from = logits.begin() + block * static_cast<ptrdiff_t>(kBlock);
  return static_cast<Token>(std::find(from, logits.end(), max) - logits.begin());
}

void Truncation::run(std::span<const float> logits, float max, const SamplingParams& params) {
  const bool top_k = params.top_k > 0 && static_cast<size_t>(params.top_k) < logits.size();
  const bool nucleus = params.top_p < 1.0F;
  const bool typical = params.typical_p < 1.0F;
  everything_ = !(top_k || nucleus || typical || params.min_p > 0.0F);
  double total = 0.0;
  if (top_k) {
    keep_top_k(logits, params.top_k);
    total = weigh_kept(max, params.temperature);
  } else {
    total = weigh_all(logits, max, params.temperature);
    if (everything_) return;
    // All weights below this bar together weigh less than (1 - p) * total: none is in the nucleus.
    // What min-p cuts off must not be missing from the nucleus's share.
    double bar = (1.0 - params.top_p) * total / static_cast<double>(weights_.size());
    if (!nucleus) bar = std::max(params.min_p, std::numeric_limits<float>::min());
    gather(weights_, block_sums_, static_cast<float>(bar), kept_);
  }
  if (nucleus) keep_nucleus(total, params.top_p);
  if (params.min_p > 0.0F) keep_above(params.min_p);
  if (typical) keep_typical(logits, max, params);
}

// One pass; the sums of a block while it is at hand.
double Truncation::weigh_all(std::span<const float> logits, float max, float temperature) {
  double total = 0.0;
  for (size_t b = 0; b < block_sums_.size(); ++b) {
    const auto from = block_of(logits, b);
    const auto to = block_of(std::span<float>(weights_), b);
    for (size_t i = 0; i < from.size(); ++i) {
      to[i] = kernels::exp_nonpositive((from[i] - max) / temperature);
    }
    block_sums_[b] = sum_of(to);
    total += block_sums_[b];
  }
  return total;
}

double Truncation::weigh_kept(float max, float temperature) {
  double total = 0.0;
  for (Candidate& token : kept_.view()) {
    token.value = kernels::exp_nonpositive((token.value - max) / temperature);
    total += token.value;
  }
  return total;
}

// Every values[i] >= bar, in order. Blocks whose bound is below the bar are not looked at; in the
// others, nothing branches on a value.
void Truncation::gather(std::span<const float> values, std::span<const float> bounds, float bar,
                        List& out) {
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
Candidate Truncation::cut(Weight weight, double need) {
  for (const auto& [shift, width] : kDigits) {
    const uint32_t digits = (1U << width) - 1U;
    const auto digit_of = [&, shift = shift](const Candidate& candidate) {
      return order_key(candidate.value) >> shift & digits;
    };
    std::fill_n(histogram_.begin(), digits + 1, 0.0);
    for (const Candidate& c : candidates_.view()) histogram_[digit_of(c)] += weight(c);
    uint32_t chosen = 0;
    for (uint32_t digit = digits + 1; digit-- > 0;) {
      if (histogram_[digit] <= 0.0) continue;
      chosen = digit;
      if (histogram_[digit] >= need) break;
      need -= histogram_[digit];
    }
    size_t count = 0;
    for (const Candidate c : candidates_.view()) {
      candidates_.items[count] = c;
      count += digit_of(c) == chosen ? 1U : 0U;
    }
    candidates_.count = count;
  }
  // What remains has one value; the lower id goes first.
  size_t last = 0;
  for (; last + 1 < candidates_.count; ++last) {
    need -= weight(candidates_.items[last]);
    if (need <= 0.0) break;
  }
  return candidates_.items[last];
}

// kept_ = the k highest logits, or all that are allowed when those are fewer.
void Truncation::keep_top_k(std::span<const float> logits, int32_t k) {
  float bar = std::numeric_limits<float>::lowest();
  if (static_cast<size_t>(k) <= block_max_.size()) {
    // k blocks have a maximum of at least the k-th largest, so k tokens have.
    std::vector<float>& maxima = block_sums_;
    maxima = block_max_;
    std::nth_element(maxima.begin(), maxima.begin() + (k - 1), maxima.end(), std::greater<>());
    bar = std::max(bar, maxima[static_cast<size_t>(k) - 1]);
  }
  gather(logits, block_max_, bar, candidates_);
  const Candidate last = cut([](const Candidate&) { return 1.0; }, k);
  gather(logits, block_max_, last.value, kept_);
  drop_below(last);
}

// Keeps the smallest set of highest ranks in kept_ whose weights sum to p * total.
void Truncation::keep_nucleus(double total, double p) {
  std::copy_n(kept_.items.begin(), kept_.count, candidates_.items.begin());
  candidates_.count = kept_.count;
  drop_below(cut([](const Candidate& c) { return double{c.value}; }, p * total));
}

// The likeliest token has the weight 1, so a share of its probability is a weight.
void Truncation::keep_above(float bar) {
  size_t count = 0;
  for (const Candidate token : kept_.view()) {
    kept_.items[count] = token;
    count += token.value >= bar ? 1U : 0U;
  }
  kept_.count = count;
}

// Locally typical sampling (Meister et al., 2022): keeps the tokens whose information content is
// nearest to the entropy of what was kept so far, until they weigh typical_p. With scaled logits x,
// both share the log of the total weight: |-log p - H| = |mean of x - x|.
void Truncation::keep_typical(std::span<const float> logits, float max,
                              const SamplingParams& params) {
  const auto scaled = [&](const Candidate& c) {
    return double{(logits[static_cast<size_t>(c.index)] - max) / params.temperature};
  };
  double total = 0.0;
  double mean = 0.0;
  for (const Candidate& c : kept_.view()) {
    total += c.value;
    if (c.value > 0.0F) mean += c.value * scaled(c);
    weights_[static_cast<size_t>(c.index)] = c.value;
  }
  mean /= total;
  const auto closeness = [&](const Candidate& c) {
    return Candidate{static_cast<float>(-std::abs(mean - scaled(c))), c.index};
  };
  candidates_.count = kept_.count;
  for (size_t i = 0; i < kept_.count; ++i) candidates_.items[i] = closeness(kept_.items[i]);
  const Candidate last =
      cut([&](const Candidate& c) { return double{weights_[static_cast<size_t>(c.index)]}; },
          params.typical_p * total);
  size_t count = 0;
  for (const Candidate c : kept_.view()) {
    const float close = closeness(c).value;
    kept_.items[count] = c;
    const bool tie = close == last.value && c.index <= last.index;
    count += static_cast<size_t>((close > last.value) | tie);
  }
  kept_.count = count;
}

// Removes from kept_ what ranks after `last`.
void Truncation::drop_below(const Candidate& last) {
  size_t count = 0;
  for (const Candidate token : kept_.view()) {
    kept_.items[count] = token;
    const bool above = token.value > last.value;
    const bool tie = token.value == last.value && token.index <= last.index;
    count += static_cast<size_t>(above | tie);
  }
  kept_.count = count;
}

}  // namespace o3::engine
