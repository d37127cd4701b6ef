// SPDX-License-Identifier: Apache-2.0
// What a request may ask of its tokens, through the scheduler: edits, log probabilities, and that
// none of it depends on the batch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cache/testing/fake_backend.h"
#include "engine/testing/batch_comparison.h"
#include "engine/testing/fake_model.h"

namespace o3::engine {
namespace {

constexpr int32_t kVocabulary = 70;

class SamplingInstance : public testing::Test {
 protected:
  RecordingSink::Record answer(Ask ask) {
    const auto sink = std::make_shared<RecordingSink>();
    auto request = make_request(std::move(ask));
    EXPECT_TRUE(check_request(*request, instance_->limits()).ok());
    instance_->submit({std::move(request), sink});
    Outbox outbox;
    std::vector<RequestId> finished;
    while (!instance_->idle()) {
      instance_->step([] {}, outbox, finished);
      outbox.deliver();
    }
    return sink->record(1);
  }

  cache::FakeBackend backend_;
  ManualClock clock_;
  std::shared_ptr<FakeModel> model_ = std::make_shared<FakeModel>(kVocabulary, 1000);
  std::unique_ptr<ModelInstance> instance_ =
      test_instance(backend_, model_, kernels::Compute::kFast, clock_);
};

float logprob_of(const std::vector<Token>& prefix, Token token) {
  std::vector<float> logits(kVocabulary);
  FakeModel::fill_logits(prefix, logits);
  double total = 0.0;
  for (const float logit : logits) total += std::exp(double{logit});
  return static_cast<float>(logits[static_cast<size_t>(token)] - std::log(total));
}

TEST_F(SamplingInstance, LogprobsAreTheModelsWhateverTheSamplerDoes) {
  SamplingParams sampling{.temperature = 3.0F, .top_k = 30, .seed = 3};
  sampling.presence_penalty = 1.0F;
  const auto got =
      answer({.max_new_tokens = 50, .sampling = sampling, .logprobs = 4, .prompt_logprobs = 0});
  ASSERT_EQ(got.tokens.size(), 50U);
  ASSERT_EQ(got.logprobs.size(), 50U);
  std::vector<Token> prefix{1, 2, 3};
  for (size_t i = 0; i < got.tokens.size(); ++i) {
    const TokenLogprobs& own = got.logprobs[i];
    EXPECT_NEAR(own.logprob, logprob_of(prefix, got.tokens[i]), 1e-5);
    ASSERT_EQ(own.top.size(), 4U);
    EXPECT_EQ(own.top[0].token, model_->continuation(prefix, 1)[0]);
    EXPECT_NEAR(own.top[3].logprob, logprob_of(prefix, own.top[3].token), 1e-5);
    EXPECT_EQ(own.rank == 1, own.logprob == own.top[0].logprob);
    prefix.push_back(got.tokens[i]);
  }
}

// Chunks of a few rows: every prompt token once, in order.
TEST_F(SamplingInstance, PromptLogprobsComeForEveryTokenButTheFirst) {
  for (const size_t length : {1U, 2U, 31U, 32U, 33U, 34U, 100U}) {
    std::vector<Token> prompt(length);
    for (size_t i = 0; i < length; ++i) prompt[i] = static_cast<Token>(i * 31 % kVocabulary);
    const auto got =
        answer({.prompt = prompt, .max_new_tokens = 3, .logprobs = 0, .prompt_logprobs = 2});
    ASSERT_EQ(got.prompt_logprobs.size(), length - 1);
    EXPECT_EQ(got.logprobs.size(), 3U);
    EXPECT_EQ(got.tokens, model_->continuation(prompt, 3));
    for (size_t i = 1; i < length; ++i) {
      const std::vector<Token> prefix(prompt.begin(), prompt.begin() + static_cast<ptrdiff_t>(i));
      EXPECT_NEAR(got.prompt_logprobs[i - 1].logprob, logprob_of(prefix, prompt[i]), 1e-5);
      EXPECT_EQ(got.prompt_logprobs[i - 1].top.size(), 2U);
    }
  }
}

TEST_F(SamplingInstance, NoStopTokenComesBeforeMinTokens) {
  const std::vector<Token> greedy = model_->continuation({1, 2, 3}, 1);
  SamplingParams sampling{.temperature = 0.0F};
  EXPECT_TRUE(
      answer({.max_new_tokens = 9, .stop_tokens = greedy, .sampling = sampling}).tokens.empty());
  sampling.min_tokens = 5;
  const auto got = answer({.max_new_tokens = 9, .stop_tokens = greedy, .sampling = sampling});
  EXPECT_GE(got.tokens.size(), 5U);
  EXPECT_EQ(std::count(got.tokens.begin(), got.tokens.end(), greedy[0]), 0);
}

TEST_F(SamplingInstance, BadWordsNeverCome) {
  const std::vector<Token> greedy = model_->continuation({1, 2, 3}, 3);
  SamplingParams sampling{.temperature = 0.0F};
  sampling.bad_words = {{greedy[0], greedy[1], greedy[2]}};
  const auto got = answer({.max_new_tokens = 3, .sampling = sampling});
  EXPECT_EQ(got.tokens[0], greedy[0]);
  EXPECT_EQ(got.tokens[1], greedy[1]);
  EXPECT_NE(got.tokens[2], greedy[2]);
  sampling.bad_words = {{3, greedy[0]}};  // begins in the prompt
  EXPECT_NE(answer({.max_new_tokens = 1, .sampling = sampling}).tokens[0], greedy[0]);
}

TEST_F(SamplingInstance, WhenARequestForbidsEverythingTheErrorIsItsOwn) {
  SamplingParams sampling{.temperature = 0.0F};
  for (Token token = 0; token < kVocabulary; ++token) sampling.bad_words.push_back({token});
  const auto got = answer({.max_new_tokens = 3, .sampling = sampling});
  ASSERT_EQ(got.finishes.size(), 1U);
  EXPECT_EQ(got.finishes[0].outcome, Outcome::kError);
  EXPECT_EQ(got.finishes[0].error->code, Code::kInvalid);
  EXPECT_EQ(got.finishes[0].error->param, "bad_words");
}

TEST_F(SamplingInstance, PenaltiesAndBiasChangeTheAnswer) {
  SamplingParams sampling{.temperature = 0.0F};
  sampling.bias = {{17, 100.0F}};
  const std::vector<Token> only(40, 17);
  EXPECT_EQ(answer({.max_new_tokens = 40, .sampling = sampling}).tokens, only);
  sampling.frequency_penalty = 2.0F;  // outweighs the bias sooner or later
  sampling.presence_penalty = 2.0F;
  const auto got = answer({.max_new_tokens = 100, .sampling = sampling}).tokens;
  const auto count = std::count(got.begin(), got.end(), 17);
  EXPECT_GT(count, 40);
  EXPECT_LT(count, 56);
}

// Fifty requests with everything that keeps state, alone and together, in a pool so small that some
// are preempted: the same tokens.
TEST_F(SamplingInstance, EveryKindOfSamplingGivesTheSameTokensInAnyBatch) {
  std::vector<Ask> asks(50);
  for (size_t i = 0; i < asks.size(); ++i) {
    Ask& ask = asks[i];
    ask.id = i + 1;
    ask.prompt.assign(5 + i * 7 % 60, static_cast<Token>(i));
    ask.max_new_tokens = static_cast<int32_t>(70 + i % 60);
    ask.stop_tokens = {60};
    ask.sampling = {.temperature = i % 5 == 0 ? 0.0F : 1.5F,
                    .seed = i / 2,
                    .choice = static_cast<uint32_t>(i % 2)};
    if (i % 2 == 0) ask.sampling.top_k = 40;
    if (i % 3 == 0) ask.sampling.top_p = 0.9F;
    if (i % 3 == 1) ask.sampling.min_p = 0.05F;
    if (i % 4 == 1) ask.sampling.typical_p = 0.8F;
    if (i % 4 == 2) ask.sampling.repetition_penalty = 1.3F;
    if (i % 4 == 3) ask.sampling.frequency_penalty = 0.7F;
    if (i % 5 == 1) ask.sampling.min_tokens = 15;
    if (i % 5 == 2) ask.sampling.bad_words = {{1}, {2, 3}};
    if (i % 5 == 3) ask.sampling.bias = {{4, 3.0F}};
    if (i % 7 == 0) ask.logprobs = 2;
    if (i % 7 == 1) ask.prompt_logprobs = 1;
  }
  const Answers alone = answer_alone(*instance_, asks);
  ASSERT_EQ(alone.size(), asks.size());
  for (const uint32_t seed : {1U, 2U, 3U}) {
    EXPECT_EQ(answer_together(*instance_, clock_, asks, seed), alone);
    const auto small = test_instance(backend_, model_, kernels::Compute::kFast, clock_, 30);
    EXPECT_EQ(answer_together(*small, clock_, asks, seed), alone);
    EXPECT_GT(small->stats().preemptions, 0) << "the pool was large enough";
  }
}

}  // namespace
}  // namespace o3::engine
