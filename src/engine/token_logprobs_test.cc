// SPDX-License-Identifier: Apache-2.0
#include "engine/token_logprobs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace o3::engine {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(TokenLogprobs, AreTheLogarithmsOfTheSoftmax) {
  std::mt19937 random(4);
  for (const size_t vocabulary : {1U, 5U, 1000U, 50'000U}) {
    std::normal_distribution<float> normal(0.0F, 3.0F);
    std::vector<float> logits(vocabulary);
    for (float& logit : logits) logit = normal(random);
    double total = 0.0;
    for (const float logit : logits) total += std::exp(double{logit});
    LogprobReader reader;
    reader.read(logits);
    for (int i = 0; i < 20; ++i) {
      const auto token = static_cast<Token>(random() % vocabulary);
      const TokenLogprobs got = reader.of(token, 0);
      EXPECT_NEAR(got.logprob, logits[static_cast<size_t>(token)] - std::log(total), 1e-5);
      EXPECT_TRUE(got.top.empty());
    }
  }
}

TEST(TokenLogprobs, ListTheLikeliestFirstAndTheLowerIdOfATie) {
  const std::vector<float> logits{1.0F, 3.0F, -kInf, 3.0F, 2.0F, 0.0F};
  LogprobReader reader;
  reader.read(logits);
  const TokenLogprobs got = reader.of(0, 3);
  EXPECT_EQ(got.rank, 4);
  ASSERT_EQ(got.top.size(), 3U);
  EXPECT_EQ(got.top[0].token, 1);
  EXPECT_EQ(got.top[1].token, 3);
  EXPECT_EQ(got.top[2].token, 4);
  EXPECT_EQ(got.top[0].logprob, got.top[1].logprob);
  EXPECT_NEAR(got.top[0].logprob - got.top[2].logprob, 1.0, 1e-6);
  EXPECT_EQ(reader.of(3, 0).rank, 1);  // of equals, all are first
  EXPECT_EQ(reader.of(2, 20).top.size(), 5U) << "what cannot come is not listed";
}

}  // namespace
}  // namespace o3::engine
