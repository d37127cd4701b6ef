// SPDX-License-Identifier: Apache-2.0
// What the golden rows of sampler_golden_test.cc do not reach.
#include "engine/logit_edits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace o3::engine {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(TokenHistory, CountsTheAnswersTokensAndKnowsThePrompts) {
  TokenHistory history;
  const std::vector<Token> prompt{4, 4, 9};
  history.add_prompt(prompt);
  history.add_prompt(prompt);  // after a preemption
  history.add_sampled(9);
  history.add_sampled(9);
  history.add_sampled(2);
  std::vector<int32_t> counts(10, -1);
  for (const auto& entry : history.entries()) {
    counts[static_cast<size_t>(entry.token)] = entry.sampled;
  }
  EXPECT_EQ(counts, (std::vector<int32_t>{-1, -1, 1, -1, 0, -1, -1, -1, -1, 2}));
}

TEST(LogitEdits, PenaltiesKeepWhatAMaskForbids) {
  std::vector<float> logits{-kInf, 1.0F};
  TokenHistory history;
  history.add_sampled(0);
  SamplingParams params;
  params.repetition_penalty = 2.0F;
  params.presence_penalty = -2.0F;
  apply_penalties(logits, history, params);
  EXPECT_EQ(logits[0], -kInf);
  const std::vector<TokenBias> bias{{0, 100.0F}};
  apply_bias(logits, bias);
  EXPECT_EQ(logits[0], -kInf);
}

TEST(LogitEdits, ABadWordLongerThanTheSequenceForbidsNothing) {
  std::vector<float> logits(5, 0.0F);
  const std::vector<Token> prompt{1};
  const std::vector<Token> sampled{2};
  const std::vector<std::vector<Token>> words{{3, 1, 2, 4}, {1, 2, 3}, {2, 1, 0}};
  forbid_bad_words(logits, {prompt, sampled}, words);
  EXPECT_EQ(logits, (std::vector<float>{0, 0, 0, -kInf, 0}));
}

TEST(LogitEdits, NoPenaltyAsksForNoHistory) {
  EXPECT_FALSE(has_penalties(SamplingParams{}));
  SamplingParams params;
  params.frequency_penalty = 0.1F;
  EXPECT_TRUE(has_penalties(params));
}

}  // namespace
}  // namespace o3::engine
