// SPDX-License-Identifier: Apache-2.0
#include "engine/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "engine/philox.h"

namespace o3::engine {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Known answers published with the Random123 library (kat_vectors, philox4x32 10 rounds).
TEST(Philox, GivesThePublishedKnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
  EXPECT_EQ(unit_interval({0, 0, 0, 0}), 0.0);
  EXPECT_LT(unit_interval({kOnes, kOnes, 0, 0}), 1.0);
}

SamplingParams params(float temperature, int32_t top_k, float top_p, uint64_t seed = 1) {
  SamplingParams made;
  made.temperature = temperature;
  made.top_k = top_k;
  made.top_p = top_p;
  made.seed = seed;
  return made;
}

// The definition, written plainly: full sort, double precision.
struct Reference {
  std::vector<Token> kept;  // ascending
  std::vector<double> probabilities;

  Reference(std::span<const float> logits, const SamplingParams& p) {
    std::vector<Token> order;
    order.reserve(logits.size());
    for (size_t i = 0; i < logits.size(); ++i) {
      if (logits[i] > -kInf) order.push_back(static_cast<Token>(i));
    }
    const auto at = [&](Token t) { return logits[static_cast<size_t>(t)]; };
    std::stable_sort(order.begin(), order.end(), [&](Token a, Token b) { return at(a) > at(b); });
    if (p.top_k > 0) order.resize(std::min(order.size(), static_cast<size_t>(p.top_k)));
    std::vector<double> weights;
    weights.reserve(order.size());
    for (const Token t : order) {
      weights.push_back(std::exp(static_cast<double>(at(t) - at(order[0])) / p.temperature));
    }
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    double sum = 0.0;
    size_t count = 0;
    while (count < order.size() && (count == 0 || sum < p.top_p * total)) sum += weights[count++];
    if (p.top_p >= 1.0F) count = order.size();
    order.resize(count);
    sum = std::accumulate(weights.begin(), weights.begin() + static_cast<ptrdiff_t>(count), 0.0);
    kept = order;
    std::sort(kept.begin(), kept.end());
    for (const Token t : kept) {
      probabilities.push_back(std::exp(static_cast<double>(at(t) - at(order[0])) / p.temperature) /
                              sum);
    }
  }

  Token draw(double u) const {
    size_t i = 0;
    while (i + 1 < kept.size() && u >= probabilities[i]) u -= probabilities[i++];
    return kept[i];
  }
};

TEST(Sampler, GreedyTakesTheLowestIdOfTheLargest) {
  Sampler sampler(40);
  std::vector<float> logits(40, 0.5F);
  logits[7] = logits[23] = logits[39] = 2.0F;
  logits[3] = kNan;
  EXPECT_EQ(*sampler.sample(logits, params(0.0F, 0, 1.0F), {}, 0), 7);
  EXPECT_EQ(*sampler.sample(logits, params(1.0F, 1, 1.0F), {}, 0), 7);
  std::vector<float> last(40, -kInf);
  last[39] = -5.0F;
  EXPECT_EQ(*sampler.sample(last, params(0.0F, 0, 1.0F), {}, 0), 39);
}

TEST(Sampler, WithoutAFiniteAllowedLogitThereIsNoToken) {
  Sampler sampler(33);
  for (const float value : {kNan, -kInf, kInf}) {
    std::vector<float> logits(33, value);
    for (const float temperature : {0.0F, 1.0F}) {
      const auto token = sampler.sample(logits, params(temperature, 0, 0.9F), {}, 0);
      ASSERT_FALSE(token.ok());
      EXPECT_EQ(token.error().code, Code::kInternal);
    }
  }
  std::vector<float> logits(33, 1.0F);
  const std::vector<uint32_t> none(2, 0);
  EXPECT_FALSE(sampler.sample(logits, params(0.0F, 0, 1.0F), none, 0).ok());
}

TEST(Sampler, NeverLeavesTheMask) {
  constexpr int kVocabulary = 100;  // not a multiple of 32
  Sampler sampler(kVocabulary);
  std::mt19937 random(5);
  for (uint32_t round = 0; round < 3000; ++round) {
    std::vector<uint32_t> mask(4, 0);
    for (int i = 0; i < 3; ++i) {
      const uint32_t t = random() % kVocabulary;
      mask[t / 32] |= 1U << t % 32;
    }
    std::vector<float> logits(kVocabulary);
    for (float& logit : logits) logit = static_cast<float>(random() % 100);
    const auto p =
        params(round % 3 == 0 ? 0.0F : 5.0F, round % 2 == 0 ? 0 : 10, round % 5 == 0 ? 1.0F : 0.9F);
    const auto token = static_cast<uint32_t>(*sampler.sample(logits, p, mask, round));
    ASSERT_NE(mask[token / 32] & (1U << token % 32), 0U);
  }
}

// No shares that equal weights could reach exactly: whether they do would be a matter of rounding.
constexpr std::array kTopP{1.0F, 0.94271F, 0.51379F, 0.05113F};

// Random rows of several shapes, with ties, against the definition.
TEST(Sampler, EqualsTheStraightforwardReference) {
  std::mt19937 random(11);
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE(round);
    const int vocabulary = std::array{5, 100, 1000, 5003}[static_cast<size_t>(round % 4)];
    Sampler sampler(vocabulary);
    std::normal_distribution<float> normal(0.0F, std::array{0.0F, 0.5F, 3.0F}[random() % 3]);
    std::vector<float> logits(static_cast<size_t>(vocabulary));
    const bool coarse = random() % 2 == 0;  // many ties
    for (float& logit : logits) logit = coarse ? std::round(normal(random)) : normal(random);
    for (int i = 0; i < vocabulary / 10; ++i) logits[random() % logits.size()] = -kInf;
    logits[random() % logits.size()] = 1.0F;
    const auto p =
        params(std::array{0.1F, 0.8F, 1.0F, 3.0F}[random() % 4],
               std::array{0, 2, 40, 4000}[random() % 4], kTopP[random() % kTopP.size()], random());
    const Reference reference(logits, p);
    for (uint32_t position = 0; position < 10; ++position) {
      const double u =
          unit_interval(philox4x32({position, 0, 0, 0}, {static_cast<uint32_t>(p.seed), 0}));
      std::vector<float> row = logits;
      EXPECT_EQ(*sampler.sample(row, p, {}, position), reference.draw(u))
          << "temperature " << p.temperature << " top_k " << p.top_k << " top_p " << p.top_p
          << " position " << position << " kept " << reference.kept.size();
    }
  }
}

// Pearson's statistic over many draws stays below the 99.9 % point of its distribution (normal
// approximation by Wilson and Hilferty). Fixed seeds: this passes or fails always.
TEST(Sampler, FrequenciesFollowTheProbabilities) {
  constexpr int kVocabulary = 64;
  constexpr int kDraws = 100'000;
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0.0F, 1.0F);
  std::vector<float> logits(kVocabulary);
  for (float& logit : logits) logit = normal(random);
  for (const auto& p : {params(1.0F, 0, 1.0F, 7), params(0.7F, 20, 1.0F, 8),
                        params(1.3F, 0, 0.8F, 9), params(1.0F, 30, 0.9F, 10)}) {
    const Reference reference(logits, p);
    Sampler sampler(kVocabulary);
    std::vector<int> counts(kVocabulary, 0);
    for (uint32_t position = 0; position < kDraws; ++position) {
      ++counts[static_cast<size_t>(*sampler.sample(logits, p, {}, position))];
    }
    double statistic = 0.0;
    int drawn = 0;
    for (size_t i = 0; i < reference.kept.size(); ++i) {
      const int count = counts[static_cast<size_t>(reference.kept[i])];
      const double expected = kDraws * reference.probabilities[i];
      statistic += (count - expected) * (count - expected) / expected;
      drawn += count;
    }
    EXPECT_EQ(drawn, kDraws) << "a token outside the kept set was drawn";
    const double freedom = static_cast<double>(reference.kept.size()) - 1.0;
    const double h = 2.0 / (9.0 * freedom);
    EXPECT_LT(statistic, freedom * std::pow(1.0 - h + 3.09 * std::sqrt(h), 3.0)) << p.seed;
  }
}

TEST(SamplerInvariant, RandomnessIsSeedChoiceAndPosition) {
  constexpr int kVocabulary = 1000;
  std::vector<float> logits(kVocabulary, 0.0F);
  const auto draw = [&](uint64_t seed, uint32_t choice, uint32_t position) {
    Sampler sampler(kVocabulary);  // a fresh one: there is no state to carry over
    SamplingParams p = params(1.0F, 0, 1.0F, seed);
    p.choice = choice;
    return *sampler.sample(logits, p, {}, position);
  };
  EXPECT_EQ(draw(1, 0, 0), draw(1, 0, 0));
  // Each of the three matters (all 64 bits of the seed): a long run of equal draws would be chance.
  const auto equal = [&](auto one, auto other) {
    int count = 0;
    for (uint32_t i = 0; i < 50; ++i) count += one(i) == other(i) ? 1 : 0;
    return count;
  };
  const auto base = [&](uint32_t i) { return draw(9, 0, i); };
  EXPECT_LT(equal(base, [&](uint32_t i) { return draw(10, 0, i); }), 5);
  EXPECT_LT(equal(base, [&](uint32_t i) { return draw(9 + (uint64_t{1} << 40), 0, i); }), 5);
  EXPECT_LT(equal(base, [&](uint32_t i) { return draw(9, 1, i); }), 5);
  EXPECT_LT(equal(base, [&](uint32_t i) { return draw(9, 0, i + 1); }), 5);
}

}  // namespace
}  // namespace o3::engine
