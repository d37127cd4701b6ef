// SPDX-License-Identifier: Apache-2.0
// Tokens that the cache holds are found again: what docs/engine.md promises of it.
// scheduler_simulation_test.cc checks the counts on random loads.
#include <gtest/gtest.h>

#include "cache/testing/fake_backend.h"
#include "engine/model_instance.h"
#include "engine/testing/fake_model.h"
#include "engine/testing/test_support.h"

namespace o3::engine {
namespace {

constexpr int32_t kUnit = 64;      // of FakeModel's two groups, with pages of 16 tokens
constexpr int32_t kUnitPages = 5;  // 4 and 1

class PrefixInvariant : public testing::Test {
 protected:
  void make(int32_t pages, InstanceOptions options = {}) {
    options.page_tokens = 16;
    options.kv_bytes = pages * 2 * 16 * 16 * 4;  // the larger group: K and V, 16 dimensions, F32
    instance_.reset();
    instance_ = *ModelInstance::create(options, backend_, model_, clock_);
  }
  void submit(Ask ask) {
    auto request = make_request(std::move(ask));
    const auto checked = check_request(*request, instance_->limits());
    ASSERT_TRUE(checked.ok()) << checked.error().message;
    instance_->submit({std::move(request), sink_});
  }
  void step() {
    instance_->step([] {}, outbox_, finished_);
    outbox_.deliver();
  }
  // The record of a request that ran alone.
  RecordingSink::Record answer(Ask ask) {
    const uint64_t id = ask.id;
    const std::vector<Token> expected = model_->continuation(ask.prompt, ask.max_new_tokens);
    submit(std::move(ask));
    while (!instance_->idle()) step();
    EXPECT_EQ(sink_->record(id).tokens, expected);
    return sink_->record(id);
  }
  static std::vector<Token> prompt(size_t tokens, Token first = 0) {
    std::vector<Token> made(tokens);
    for (Token& token : made) token = first++ % 70;
    return made;
  }
  const PageLedger& pages() const { return instance_->scheduler().pages(); }

  cache::FakeBackend backend_;
  ManualClock clock_;
  std::shared_ptr<FakeModel> model_ = std::make_shared<FakeModel>(70, 1000);
  std::shared_ptr<RecordingSink> sink_ = std::make_shared<RecordingSink>();
  std::unique_ptr<ModelInstance> instance_;
  Outbox outbox_;
  std::vector<RequestId> finished_;
};

TEST_F(PrefixInvariant, KnownTokensAreNotComputedAgain) {
  make(200);
  EXPECT_EQ(answer({.id = 1, .prompt = prompt(200)}).cached_tokens, 0);
  const auto again = answer({.id = 2, .prompt = prompt(200)});
  EXPECT_EQ(again.cached_tokens, 3 * kUnit);
  EXPECT_EQ(again.finishes.at(0).prompt_tokens, 200);
  EXPECT_EQ(instance_->stats().prompt_tokens, 200 + 8);
  EXPECT_EQ(instance_->stats().cached_tokens, 3 * kUnit);
  auto other = prompt(200);
  other[70] = 3;
  EXPECT_EQ(answer({.id = 3, .prompt = other}).cached_tokens, kUnit);
  // The last token is always computed: its logits give the next.
  EXPECT_EQ(answer({.id = 4, .prompt = prompt(2 * kUnit)}).cached_tokens, kUnit);
  EXPECT_EQ(answer({.id = 5, .prompt = prompt(2 * kUnit + 1)}).cached_tokens, 2 * kUnit);
}

TEST_F(PrefixInvariant, AnAnswerIsKnownAsWell) {
  make(200);
  answer({.id = 1, .prompt = prompt(50), .max_new_tokens = 100});
  auto next = prompt(50);
  const auto said = sink_->record(1).tokens;
  next.insert(next.end(), said.begin(), said.end());
  next.push_back(4);
  EXPECT_EQ(answer({.id = 2, .prompt = next}).cached_tokens, 2 * kUnit);
}

TEST_F(PrefixInvariant, DomainsNeverShare) {
  make(200);
  answer({.id = 1, .prompt = prompt(200), .tenant = "a"});
  EXPECT_EQ(answer({.id = 2, .prompt = prompt(200), .tenant = "b"}).cached_tokens, 0);
  EXPECT_EQ(answer({.id = 3, .prompt = prompt(200), .tenant = "a"}).cached_tokens, 3 * kUnit);
}

TEST_F(PrefixInvariant, WhoMustNotReuseComputesEverything) {
  make(200);
  answer({.id = 1, .prompt = prompt(200)});
  EXPECT_EQ(answer({.id = 2, .prompt = prompt(200), .prompt_logprobs = 0}).cached_tokens, 0);
  EXPECT_EQ(sink_->record(2).prompt_logprobs.size(), 199u);
  EXPECT_EQ(answer({.id = 3, .prompt = prompt(200), .reuse_prefix = false}).cached_tokens, 0);
  make(200, {.share_prefixes = false});
  answer({.id = 4, .prompt = prompt(200)});
  EXPECT_EQ(answer({.id = 5, .prompt = prompt(200)}).cached_tokens, 0);
  EXPECT_EQ(pages().cached(), 0);
}

TEST_F(PrefixInvariant, AUnitInUseIsChargedOnce) {
  make(40);
  answer({.id = 1, .prompt = prompt(5 * kUnit + 1), .max_new_tokens = 1});
  EXPECT_EQ(pages().charged(), 0);
  // Six that share 25 pages and have two of their own would need 162 pages without sharing.
  for (uint64_t id = 2; id <= 7; ++id) {
    submit({.id = id, .prompt = prompt(5 * kUnit + 1), .max_new_tokens = 10});
  }
  step();
  EXPECT_EQ(instance_->stats().running, 6);
  EXPECT_EQ(pages().pinned(), 5 * kUnitPages);
  EXPECT_EQ(pages().charged(), 5 * kUnitPages + 6 * 2);
  EXPECT_EQ(pages().used(), pages().charged());
  while (!instance_->idle()) step();
  for (uint64_t id = 2; id <= 7; ++id) {
    EXPECT_EQ(sink_->record(id).tokens, model_->continuation(prompt(5 * kUnit + 1), 10));
  }
}

TEST_F(PrefixInvariant, SequencesThatComputeTheSameEndUpSharing) {
  make(200);
  for (uint64_t id = 1; id <= 4; ++id) {
    submit({.id = id, .prompt = prompt(2 * kUnit + 1), .max_new_tokens = 20});
  }
  step();  // 512 rows
  step();
  EXPECT_EQ(pages().pinned(), 2 * kUnitPages);
  EXPECT_EQ(pages().used(), 2 * kUnitPages + 4 * 2);
  while (!instance_->idle()) step();
  for (uint64_t id = 1; id <= 4; ++id) {
    EXPECT_EQ(sink_->record(id).tokens, model_->continuation(prompt(2 * kUnit + 1), 20));
  }
}

TEST_F(PrefixInvariant, WhatNobodyUsesIsAsGoodAsFree) {
  make(50);
  answer({.id = 1, .prompt = prompt(300)});
  answer({.id = 2, .prompt = prompt(200, 1)});
  EXPECT_EQ(pages().used(), 0);
  EXPECT_EQ(pages().cached(), (4 + 3) * kUnitPages);
  EXPECT_EQ(instance_->stats().blocks_used, 0);
  // 500 tokens take 40 pages: the oldest are given up, as many as needed.
  answer({.id = 3, .prompt = prompt(500, 2), .max_new_tokens = 1});
  EXPECT_EQ(answer({.id = 4, .prompt = prompt(200, 1)}).cached_tokens, 2 * kUnit);
  EXPECT_EQ(answer({.id = 5, .prompt = prompt(300)}).cached_tokens, 0);
}

TEST_F(PrefixInvariant, APrefixOutlivesManyOthersWhileThePoolAllows) {
  make(1000);
  answer({.id = 1, .prompt = prompt(640), .max_new_tokens = 1});
  for (uint64_t id = 2; id <= 51; ++id) {
    answer({.id = id, .prompt = prompt(150, static_cast<Token>(id)), .max_new_tokens = 1});
  }
  EXPECT_EQ(answer({.id = 52, .prompt = prompt(640)}).cached_tokens, 9 * kUnit);
}

TEST_F(PrefixInvariant, ACancelledPromptIsKnownAsFarAsItCame) {
  make(200, {.max_running = 4, .max_step_rows = 100});
  submit({.id = 1, .prompt = prompt(500)});
  step();
  step();
  instance_->cancel(RequestId{1});
  while (!instance_->idle()) step();
  EXPECT_EQ(sink_->record(1).finishes.at(0).outcome, Outcome::kCancelled);
  EXPECT_EQ(answer({.id = 2, .prompt = prompt(500)}).cached_tokens, 3 * kUnit);
}

TEST_F(PrefixInvariant, PagesOfAFailedStepAreNotKept) {
  make(200);
  submit({.id = 1, .prompt = prompt(200)});
  backend_.health = false;
  while (!instance_->idle()) step();
  EXPECT_EQ(pages().cached(), 0);
  EXPECT_EQ(pages().used(), 0);
}

}  // namespace
}  // namespace o3::engine
