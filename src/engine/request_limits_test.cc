// SPDX-License-Identifier: Apache-2.0
#include "engine/request_limits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "engine/testing/test_support.h"

namespace o3::engine {
namespace {

constexpr RequestLimits kLimits{.vocabulary = 100, .model_context = 64, .context = 64};

Result<void> check(const std::function<void(Ask&)>& change, const RequestLimits& limits = kLimits) {
  Ask ask;
  change(ask);
  return check_request(*make_request(std::move(ask)), limits);
}

TEST(RequestInvariant, EverythingIsCheckedOnceAtSubmit) {
  EXPECT_TRUE(check([](Ask&) {}).ok());
  struct Case {
    const char* param;
    std::function<void(Ask&)> change;
  };
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Case> cases{
      {"prompt", [](Ask& a) { a.prompt.clear(); }},
      {"prompt", [](Ask& a) { a.prompt[1] = 100; }},
      {"prompt", [](Ask& a) { a.prompt[1] = -1; }},
      {"max_new_tokens", [](Ask& a) { a.max_new_tokens = 0; }},
      {"max_new_tokens", [](Ask& a) { a.max_new_tokens = std::numeric_limits<int32_t>::min(); }},
      {"stop_tokens",
       [](Ask& a) {
         a.stop_tokens = {5, 100};
       }},
      {"stop_tokens", [](Ask& a) { a.stop_tokens.assign(257, 5); }},
      {"temperature", [](Ask& a) { a.sampling.temperature = -0.1F; }},
      {"temperature", [](Ask& a) { a.sampling.temperature = 101.0F; }},
      {"temperature", [](Ask& a) { a.sampling.temperature = kNan; }},
      {"temperature", [](Ask& a) { a.sampling.temperature = HUGE_VALF; }},
      {"top_k", [](Ask& a) { a.sampling.top_k = -1; }},
      {"top_p", [](Ask& a) { a.sampling.top_p = 0.0F; }},
      {"top_p", [](Ask& a) { a.sampling.top_p = 1.01F; }},
      {"top_p", [](Ask& a) { a.sampling.top_p = kNan; }},
      {"min_p", [](Ask& a) { a.sampling.min_p = 1.1F; }},
      {"min_p", [](Ask& a) { a.sampling.min_p = kNan; }},
      {"typical_p", [](Ask& a) { a.sampling.typical_p = 0.0F; }},
      {"repetition_penalty", [](Ask& a) { a.sampling.repetition_penalty = 0.0F; }},
      {"presence_penalty", [](Ask& a) { a.sampling.presence_penalty = -2.1F; }},
      {"frequency_penalty", [](Ask& a) { a.sampling.frequency_penalty = kNan; }},
      {"min_tokens", [](Ask& a) { a.sampling.min_tokens = -1; }},
      {"logit_bias",
       [](Ask& a) {
         a.sampling.bias = {{100, 1.0F}};
       }},
      {"logit_bias",
       [](Ask& a) {
         a.sampling.bias = {{1, 101.0F}};
       }},
      {"logit_bias", [](Ask& a) { a.sampling.bias.resize(1025); }},
      {"bad_words", [](Ask& a) { a.sampling.bad_words = {{}}; }},
      {"bad_words",
       [](Ask& a) {
         a.sampling.bad_words = {{1, -1}};
       }},
      {"bad_words", [](Ask& a) { a.sampling.bad_words.resize(257, {1}); }},
      {"bad_words", [](Ask& a) { a.sampling.bad_words = {std::vector<Token>(65, 1)}; }},
      {"logprobs", [](Ask& a) { a.logprobs = 21; }},
      {"prompt_logprobs", [](Ask& a) { a.prompt_logprobs = -1; }},
      {"request_class", [](Ask& a) { a.request_class = static_cast<RequestClass>(4); }},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    const auto checked = check(cases[i].change);
    ASSERT_FALSE(checked.ok());
    EXPECT_EQ(checked.error().code, Code::kInvalid);
    EXPECT_EQ(checked.error().param, cases[i].param);
  }
}

TEST(RequestInvariant, WhatCanNeverFitIsRefusedWithTheNumbers) {
  EXPECT_TRUE(check([](Ask& a) { a.max_new_tokens = 61; }).ok());
  const auto context = check([](Ask& a) { a.max_new_tokens = 62; });
  ASSERT_FALSE(context.ok());
  EXPECT_EQ(context.error().code, Code::kTooLong);
  EXPECT_EQ(context.error().message,
            "the prompt has 3 tokens and 62 more are asked for, 65 in all; one request may have 64 "
            "(the model's context)");
  const auto pool = check([](Ask& a) { a.max_new_tokens = 30; },
                          {.vocabulary = 100, .model_context = 64, .context = 32});
  ASSERT_FALSE(pool.ok());
  EXPECT_EQ(pool.error().code, Code::kTooLong);
  EXPECT_NE(pool.error().message.find("one request may have 32 (the KV pool holds no more; the "
                                      "model's context is 64)"),
            std::string::npos);
  const auto most = check([](Ask& a) { a.max_new_tokens = std::numeric_limits<int32_t>::max(); });
  ASSERT_FALSE(most.ok());
  EXPECT_EQ(most.error().code, Code::kTooLong);
}

TEST(RequestLimits, OtherKindsOfWorkAreNotServedYet) {
  Request request;
  request.work = Embed{};
  EXPECT_EQ(check_request(request, kLimits).error().code, Code::kUnsupported);
}

TEST(RequestLimits, TheContextIsWhatThePoolCanHold) {
  cache::PageLayout layout;
  layout.groups.resize(2);
  layout.groups[0].page_tokens = 16;
  layout.groups[1].page_tokens = 64;
  const auto context = [&](uint32_t blocks) {
    return RequestLimits::of(100, 1000, layout, blocks).context;
  };
  EXPECT_EQ(context(1), 0);
  EXPECT_EQ(context(2), 16);
  EXPECT_EQ(context(5), 64);
  EXPECT_EQ(context(6), 64);  // a 65th token takes two pages
  EXPECT_EQ(context(7), 80);
  EXPECT_EQ(context(100000), 1000);
}

}  // namespace
}  // namespace o3::engine
