// SPDX-License-Identifier: Apache-2.0
// Everything of the engine but its thread, one step at a time under a clock that the test owns.
#include "engine/model_instance.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

#include "cache/testing/fake_backend.h"
#include "engine/testing/best_model.h"
#include "engine/testing/fake_model.h"
#include "engine/testing/test_support.h"

namespace o3::engine {
namespace {

constexpr int32_t kVocabulary = 70;

class CountingSink final : public DeltaSink {
 public:
  void deliver(std::vector<Delta> deltas) noexcept override {
    ++calls;
    for (const Delta& delta : deltas) ids.push_back(delta.id.value);
  }
  int calls = 0;
  std::vector<uint64_t> ids;
};

class InstanceInvariant : public testing::Test {
 protected:
  void make(int32_t pages = 200, InstanceOptions options = {}) {
    options.page_tokens = 16;
    options.kv_bytes = pages * 2 * 16 * 16 * 4;  // the larger group: K and V, 16 dimensions, F32
    instance_.reset();
    instance_ = *ModelInstance::create(options, backend_, model_, clock_);
  }
  void submit(Ask ask, std::shared_ptr<DeltaSink> sink = nullptr) {
    auto request = make_request(std::move(ask));
    const auto checked = check_request(*request, instance_->limits());
    ASSERT_TRUE(checked.ok()) << checked.error().message;
    instance_->submit({std::move(request), sink ? std::move(sink) : sink_});
  }
  void step(const std::function<void()>& poll = [] {}) {
    instance_->step(poll, outbox_, finished_);
    outbox_.deliver();
  }
  void finish_all() {
    while (!instance_->idle()) step();
  }
  RecordingSink::Record record(uint64_t id = 1) const { return sink_->record(id); }
  // What sequences do not use.
  uint32_t free_blocks() const {
    const PageLedger& pages = instance_->scheduler().pages();
    return static_cast<uint32_t>(pages.total() - pages.used());
  }

  cache::FakeBackend backend_;
  ManualClock clock_;
  std::shared_ptr<FakeModel> model_ = std::make_shared<FakeModel>(kVocabulary, 1000);
  std::shared_ptr<RecordingSink> sink_ = std::make_shared<RecordingSink>();
  std::unique_ptr<ModelInstance> instance_;
  Outbox outbox_;
  std::vector<RequestId> finished_;
};

std::vector<Token> random_prompt(std::mt19937& random, uint32_t longest) {
  std::vector<Token> prompt(1 + random() % longest);
  for (Token& token : prompt) token = static_cast<Token>(random() % kVocabulary);
  return prompt;
}

TEST_F(InstanceInvariant, GreedyTokensAreTheModels) {
  make();
  submit({.prompt = {4, 8, 15}, .max_new_tokens = 100});
  finish_all();
  EXPECT_EQ(record().tokens, model_->continuation({4, 8, 15}, 100));
  ASSERT_EQ(record().finishes.size(), 1u);
  const Finish finish = record().finishes[0];
  EXPECT_EQ(finish.outcome, Outcome::kLength);
  EXPECT_FALSE(finish.error);
  EXPECT_EQ(finish.prompt_tokens, 3);
  EXPECT_EQ(finish.completion_tokens, 100);
}

// A device that finds the largest logit: greedy rows never need theirs, sampled rows always do.
TEST(BestOfARow, IsTakenWhereItIsEnough) {
  cache::FakeBackend backend;
  ManualClock clock;
  const auto model = std::make_shared<BestModel>(kVocabulary, 1000);
  InstanceOptions options;
  options.page_tokens = 16;
  options.kv_bytes = int64_t{200} * 2 * 16 * 16 * 4;
  const auto instance = *ModelInstance::create(options, backend, model, clock);
  const auto sink = std::make_shared<RecordingSink>();
  const SamplingParams sampled{.temperature = 1.0F, .seed = 3};
  const SamplingParams top_one{.temperature = 1.0F, .top_k = 1};
  instance->submit({make_request({.id = 1, .prompt = {4, 8}, .max_new_tokens = 40}), sink});
  instance->submit({make_request({.id = 2, .max_new_tokens = 40, .sampling = sampled}), sink});
  instance->submit(
      {make_request({.id = 3, .prompt = {9}, .max_new_tokens = 40, .sampling = top_one}), sink});
  Outbox outbox;
  std::vector<RequestId> finished;
  while (!instance->idle()) {
    instance->step([] {}, outbox, finished);
    outbox.deliver();
  }
  EXPECT_EQ(sink->record(1).tokens, model->inner().continuation({4, 8}, 40));
  EXPECT_EQ(sink->record(3).tokens, model->inner().continuation({9}, 40));
  ASSERT_EQ(sink->record(2).finishes.size(), 1U);
  EXPECT_EQ(sink->record(2).finishes[0].outcome, Outcome::kLength);
  EXPECT_NE(sink->record(2).tokens, model->inner().continuation({1, 2, 3}, 40));
}

TEST(BestOfARow, NoneIsAnErrorOfTheRequest) {
  EXPECT_EQ(Sampler::found(-1).error().code, Code::kInternal);
  EXPECT_EQ(*Sampler::found(0), 0);
}

TEST_F(InstanceInvariant, ASampledAnswerCanBeContinued) {
  make();
  const SamplingParams sampling{.temperature = 1.5F, .seed = 5, .choice = 2};
  submit({.id = 1, .max_new_tokens = 30, .sampling = sampling});
  finish_all();
  const std::vector<Token> whole = record(1).tokens;
  // What the sampler gives for the place that each token takes in its sequence.
  Sampler sampler(kVocabulary);
  std::vector<Token> sequence{1, 2, 3};
  std::vector<float> logits(kVocabulary);
  for (const Token token : whole) {
    FakeModel::fill_logits(sequence, logits);
    ASSERT_EQ(token, *sampler.sample(logits, sampling, {}, static_cast<uint32_t>(sequence.size())));
    sequence.push_back(token);
  }
  // So a prompt that ends with the first half is answered with the second.
  submit({.id = 2,
          .prompt = std::vector<Token>(sequence.begin(), sequence.begin() + 18),
          .max_new_tokens = 15,
          .sampling = sampling});
  finish_all();
  EXPECT_EQ(record(2).tokens, std::vector<Token>(whole.begin() + 15, whole.end()));
}

// Alone, then among others that arrive at random, are cancelled at random, and are cut into other
// chunks by a small step: the same tokens, greedy or sampled.
TEST_F(InstanceInvariant, TokensDoNotDependOnTheBatch) {
  std::mt19937 random(42);
  std::vector<Ask> asks;
  for (uint64_t id = 1; id <= 40; ++id) {
    Ask ask{.id = id,
            .prompt = random_prompt(random, 120),
            .max_new_tokens = static_cast<int32_t>(1 + random() % 60),
            .request_class = static_cast<RequestClass>(random() % 4)};
    if (id % 2 == 0) ask.sampling = {.temperature = 0.9F, .top_k = 20, .top_p = 0.9F, .seed = id};
    asks.push_back(ask);
  }
  std::vector<std::vector<Token>> alone;
  for (const Ask& ask : asks) {
    make();
    sink_ = std::make_shared<RecordingSink>();
    submit(ask);
    finish_all();
    alone.push_back(record(ask.id).tokens);
    if (ask.id % 2 == 1) {
      EXPECT_EQ(alone.back(), model_->continuation(ask.prompt, ask.max_new_tokens));
    }
  }
  make(60, {.max_running = 7, .max_step_rows = 40});
  sink_ = std::make_shared<RecordingSink>();
  std::set<uint64_t> cancelled;
  for (size_t next = 0; next < asks.size() || !instance_->idle();) {
    while (next < asks.size() && random() % 3 == 0) submit(asks[next++]);
    if (next > 0 && random() % 40 == 0) {
      cancelled.insert(1 + random() % next);
      instance_->cancel(RequestId{*cancelled.rbegin()});
    }
    clock_.advance(std::chrono::milliseconds(random() % 30));
    step();
  }
  for (size_t i = 0; i < asks.size(); ++i) {
    std::vector<Token> tokens = record(asks[i].id).tokens;
    std::vector<Token> expected = alone[i];
    ASSERT_LE(tokens.size(), expected.size());
    if (cancelled.contains(asks[i].id)) expected.resize(tokens.size());
    EXPECT_EQ(tokens, expected) << "request " << asks[i].id;
  }
  EXPECT_GT(cancelled.size(), 0u);
  EXPECT_LT(cancelled.size(), asks.size() / 2);
}

TEST_F(InstanceInvariant, OneDeliveryPerSinkPerStep) {
  make();
  const auto one = std::make_shared<CountingSink>();
  const auto two = std::make_shared<CountingSink>();
  for (uint64_t id = 1; id <= 6; ++id) submit({.id = id}, id <= 4 ? one : two);
  step();
  EXPECT_EQ(one->calls, 1);
  EXPECT_EQ(one->ids, (std::vector<uint64_t>{1, 2, 3, 4}));
  EXPECT_EQ(two->calls, 1);
  EXPECT_EQ(two->ids, (std::vector<uint64_t>{5, 6}));
  finish_all();
  EXPECT_EQ(one->calls, 4) << "the last tokens and the finishes come together";
  EXPECT_EQ(one->ids.size(), 16u);
}

TEST_F(InstanceInvariant, CancelTakesEffectWithinOneStep) {
  make();
  const uint32_t free = free_blocks();
  submit({.id = 1, .max_new_tokens = 50});
  submit({.id = 2, .max_new_tokens = 50});
  step();
  step();
  EXPECT_LT(free_blocks(), free);
  // While the step runs: its token is not used, and its pages are back when it ends.
  step([&] {
    instance_->cancel(RequestId{1});
    instance_->cancel(RequestId{2});
  });
  EXPECT_EQ(free_blocks(), free);
  EXPECT_TRUE(instance_->idle());
  for (const uint64_t id : {1, 2}) {
    ASSERT_EQ(record(id).finishes.size(), 1u);
    EXPECT_EQ(record(id).finishes[0].outcome, Outcome::kCancelled);
    EXPECT_EQ(record(id).finishes[0].completion_tokens, 2);
    EXPECT_EQ(record(id).tokens.size(), 2u);
  }
  EXPECT_EQ(finished_.size(), 2u);
}

TEST_F(InstanceInvariant, ACancelledPromptReportsWhatWasComputed) {
  make(200, {.max_running = 2, .max_step_rows = 16});
  submit({.id = 1, .prompt = std::vector<Token>(100, 3)});
  submit({.id = 2});
  step();
  instance_->cancel(RequestId{1});
  instance_->cancel(RequestId{2});  // still waiting
  step();
  EXPECT_EQ(record(1).finishes.at(0).prompt_tokens, 16);
  EXPECT_EQ(record(2).finishes.at(0).prompt_tokens, 0);
  EXPECT_TRUE(instance_->idle());
}

TEST_F(InstanceInvariant, StopTokensAreCountedNotDelivered) {
  make();
  const std::vector<Token> tokens = model_->continuation({1, 2, 3}, 10);
  const Token stop = tokens[6];
  const auto first = std::find(tokens.begin(), tokens.end(), stop) - tokens.begin();
  submit({.max_new_tokens = 10, .stop_tokens = {stop}});
  finish_all();
  EXPECT_EQ(record().tokens, std::vector<Token>(tokens.begin(), tokens.begin() + first));
  EXPECT_EQ(record().finishes.at(0).outcome, Outcome::kStop);
  EXPECT_EQ(record().finishes.at(0).completion_tokens, first + 1);
}

TEST_F(InstanceInvariant, ADeadlineIsAnErrorOfItsOwn) {
  make(200, {.max_running = 1, .max_step_rows = 64});
  submit({.id = 1, .max_new_tokens = 900, .deadline = std::chrono::milliseconds(50)});
  submit({.id = 2, .deadline = std::chrono::milliseconds(30)});
  model_->on_forward = [&](const model::BatchView&) -> Result<void> {
    clock_.advance(std::chrono::milliseconds(10));
    return {};
  };
  finish_all();
  EXPECT_EQ(record(1).tokens.size(), 5u);
  EXPECT_EQ(record(2).tokens.size(), 0u);
  for (const uint64_t id : {1, 2}) {
    EXPECT_EQ(record(id).finishes.at(0).outcome, Outcome::kDeadline);
    EXPECT_EQ(record(id).finishes.at(0).error->code, Code::kDeadline);
  }
}

TEST_F(InstanceInvariant, ABackendFailureEndsEverything) {
  make(200, {.max_running = 2, .max_step_rows = 64});
  for (uint64_t id = 1; id <= 5; ++id) submit({.id = id});
  step();
  EXPECT_FALSE(instance_->failure());
  model_->on_forward = [](const model::BatchView&) -> Result<void> {
    return Error{Code::kInternal, "the device is gone", {}};
  };
  step();
  ASSERT_TRUE(instance_->failure());
  EXPECT_TRUE(instance_->idle());
  model_->on_forward = [](const model::BatchView&) -> Result<void> {
    ADD_FAILURE() << "a failed backend is used again";
    return {};
  };
  submit({.id = 6});  // was already in the queue
  step();
  for (uint64_t id = 1; id <= 6; ++id) {
    ASSERT_EQ(record(id).finishes.size(), 1u);
    EXPECT_EQ(record(id).finishes[0].outcome, Outcome::kError);
    EXPECT_EQ(record(id).finishes[0].error->code, Code::kUnavailable);
  }
  EXPECT_EQ(record(1).tokens.size(), 1u);
  EXPECT_EQ(free_blocks(), instance_->pool().total_blocks());
}

TEST_F(InstanceInvariant, AnUnhealthyBackendIsAFailure) {
  make();
  submit({});
  backend_.health = false;
  step();
  EXPECT_TRUE(instance_->failure());
  EXPECT_EQ(record().finishes.at(0).error->code, Code::kUnavailable);
}

// In pools that hold one long answer to three, twelve take turns.
TEST_F(InstanceInvariant, APreemptedRequestGoesOnWhereItWas) {
  std::mt19937 random(7);
  std::vector<Ask> asks;
  int64_t prompt_tokens = 0;
  int64_t output_tokens = 0;
  for (uint64_t id = 1; id <= 12; ++id) {
    Ask ask{.id = id,
            .prompt = random_prompt(random, 40),
            .max_new_tokens = 150,
            .request_class = static_cast<RequestClass>(id % 3)};
    if (id % 2 == 0) ask.sampling = {.temperature = 1.1F, .top_p = 0.95F, .seed = id};
    prompt_tokens += std::ssize(ask.prompt);
    output_tokens += ask.max_new_tokens;
    asks.push_back(ask);
  }
  const auto answers = [&](int32_t pages) {
    make(pages);
    sink_ = std::make_shared<RecordingSink>();
    for (const Ask& ask : asks) submit(ask);
    finish_all();
    std::vector<RecordingSink::Record> all;
    all.reserve(asks.size());
    for (const Ask& ask : asks) all.push_back(record(ask.id));
    return all;
  };
  const auto roomy = answers(200);
  EXPECT_EQ(instance_->stats().preemptions, 0);
  int64_t preemptions = 0;
  for (const int32_t pages : {16, 20, 24, 28, 32, 50}) {
    SCOPED_TRACE(pages);
    const auto tight = answers(pages);
    preemptions += instance_->stats().preemptions;
    EXPECT_EQ(instance_->stats().prompt_tokens, prompt_tokens) << "recomputed rows are no new ones";
    EXPECT_EQ(instance_->stats().output_tokens, output_tokens);
    for (size_t i = 0; i < asks.size(); ++i) {
      EXPECT_EQ(tight[i].tokens, roomy[i].tokens) << "request " << asks[i].id;
      ASSERT_EQ(tight[i].finishes.size(), 1u);
      EXPECT_FALSE(tight[i].after_finish);
      EXPECT_EQ(tight[i].finishes[0].outcome, Outcome::kLength);
      EXPECT_EQ(tight[i].finishes[0].prompt_tokens, std::ssize(asks[i].prompt));
      EXPECT_EQ(tight[i].finishes[0].completion_tokens, asks[i].max_new_tokens);
    }
    EXPECT_EQ(free_blocks(), static_cast<uint32_t>(pages));
  }
  EXPECT_GE(preemptions, 10);
}

TEST_F(InstanceInvariant, APreemptedRequestCanEndLikeAnyOther) {
  make(16);
  const auto until_preempted = [&](uint64_t first) {
    const int64_t before = instance_->stats().preemptions;
    submit({.id = first, .prompt = std::vector<Token>(20, 3), .max_new_tokens = 150});
    submit({.id = first + 1,
            .prompt = std::vector<Token>(20, 5),
            .max_new_tokens = 150,
            .deadline = clock_.monotonic() + std::chrono::seconds(10)});
    while (instance_->stats().preemptions == before) step();
    EXPECT_EQ(instance_->stats().waiting, 1);
  };
  until_preempted(1);
  instance_->cancel(RequestId{2});
  step();
  ASSERT_EQ(record(2).finishes.size(), 1u);
  EXPECT_EQ(record(2).finishes[0].outcome, Outcome::kCancelled);
  EXPECT_EQ(record(2).finishes[0].prompt_tokens, 20) << "they were computed";
  EXPECT_GT(record(2).tokens.size(), 60u);
  finish_all();
  until_preempted(3);
  clock_.advance(std::chrono::seconds(11));
  step();
  ASSERT_EQ(record(4).finishes.size(), 1u);
  EXPECT_EQ(record(4).finishes[0].outcome, Outcome::kDeadline);
  finish_all();
  EXPECT_EQ(record(3).tokens, model_->continuation(std::vector<Token>(20, 3), 150));
  EXPECT_EQ(free_blocks(), 16u);
}

// Allows one fixed text, then nothing but `end`; may be told to misbehave.
class FixedText final : public text::TokenConstraint {
 public:
  FixedText(std::vector<Token> text, bool refuses) : text_(std::move(text)), refuses_(refuses) {}
  void fill(std::span<uint32_t> bits) const override {
    const auto t = static_cast<uint32_t>(text_[at_]);
    bits[t / 32] |= 1U << t % 32;
  }
  bool accept(Token token) override {
    if (refuses_ || token != text_[at_]) return false;
    ++at_;
    return true;
  }
  void rollback(int32_t count) override { at_ -= static_cast<size_t>(count); }
  bool complete() const noexcept override { return at_ == text_.size(); }

 private:
  std::vector<Token> text_;
  size_t at_ = 0;
  bool refuses_;
};

ConstraintFactory fixed_text(const std::vector<Token>& text, bool refuses = false) {
  return [=] { return std::make_unique<FixedText>(text, refuses); };
}

TEST_F(InstanceInvariant, ConstrainedOutputStaysInsideItsMask) {
  make();
  const std::vector<Token> text{69, 0, 31, 32, 7};
  submit({.id = 1, .max_new_tokens = 50, .constraint = fixed_text(text)});
  submit({.id = 2,
          .max_new_tokens = 50,
          .sampling = {.temperature = 5.0F, .top_p = 0.9F},
          .constraint = fixed_text(text)});
  submit({.id = 3, .max_new_tokens = 3, .constraint = fixed_text(text)});
  submit({.id = 4, .max_new_tokens = 5, .constraint = fixed_text(text)});
  submit({.id = 5, .max_new_tokens = 8});
  finish_all();
  for (const uint64_t id : {1, 2, 4}) {
    EXPECT_EQ(record(id).tokens, text);
    EXPECT_EQ(record(id).finishes.at(0).outcome, Outcome::kStop) << "complete, so it stops";
  }
  EXPECT_EQ(record(3).tokens.size(), 3u);
  EXPECT_EQ(record(3).finishes.at(0).outcome, Outcome::kLength) << "the budget was too small";
  EXPECT_EQ(record(5).tokens, model_->continuation({1, 2, 3}, 8)) << "others are not masked";
}

TEST_F(InstanceInvariant, APreemptedConstraintGoesOnAsWell) {
  make(16);
  std::vector<Token> text(140);
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<Token>(i * 7 % kVocabulary);
  submit({.id = 1, .prompt = std::vector<Token>(20, 3), .max_new_tokens = 150});
  submit({.id = 2,
          .prompt = std::vector<Token>(20, 5),
          .max_new_tokens = 150,
          .constraint = fixed_text(text)});
  finish_all();
  EXPECT_GE(instance_->stats().preemptions, 1);
  EXPECT_EQ(record(2).tokens, text);
  EXPECT_EQ(record(2).finishes.at(0).outcome, Outcome::kStop);
}

TEST_F(InstanceInvariant, OneRequestsTroubleIsItsOwn) {
  make();
  submit({.id = 1, .constraint = [] { return std::unique_ptr<text::TokenConstraint>(); }});
  submit({.id = 2, .constraint = fixed_text({1, 2}, true)});
  submit({.id = 3});
  finish_all();
  for (const uint64_t id : {1, 2}) {
    EXPECT_EQ(record(id).finishes.at(0).outcome, Outcome::kError);
    EXPECT_EQ(record(id).finishes.at(0).error->code, Code::kInternal);
    EXPECT_TRUE(record(id).tokens.empty());
  }
  EXPECT_EQ(record(3).tokens, model_->continuation({1, 2, 3}, 4));
}

TEST_F(InstanceInvariant, MemoryIsTakenOnceAndTagged) {
  make();
  const int before = backend_.allocations;
  EXPECT_EQ(backend_.allocated(device::MemTag::kKv),
            static_cast<size_t>(200 * instance_->pool().layout().page_bytes));
  for (uint64_t id = 1; id <= 50; ++id) submit({.id = id, .max_new_tokens = 50});
  finish_all();
  EXPECT_EQ(backend_.allocations, before);
  instance_.reset();
  EXPECT_EQ(backend_.allocated(device::MemTag::kKv), 0u);
  EXPECT_EQ(backend_.allocated(device::MemTag::kWorkspace), 0u);
}

TEST_F(InstanceInvariant, OptionsThatCannotWorkAreRefusedByName) {
  const auto param = [&](auto change) {
    InstanceOptions options;
    options.kv_bytes = 1 << 20;
    change(options);
    const auto made = ModelInstance::create(options, backend_, model_, clock_);
    return made.ok() ? "" : made.error().param;
  };
  EXPECT_EQ(param([](InstanceOptions&) {}), "");
  EXPECT_EQ(param([](InstanceOptions& o) { o.kv_bytes = 0; }), "kv_bytes");
  EXPECT_EQ(param([](InstanceOptions& o) { o.kv_bytes = 4096; }), "kv_bytes");
  EXPECT_EQ(param([](InstanceOptions& o) { o.page_tokens = 20; }), "page_tokens");
  EXPECT_EQ(param([](InstanceOptions& o) { o.max_running = 0; }), "max_running");
  EXPECT_EQ(param([](InstanceOptions& o) { o.max_step_rows = 63; }), "max_step_rows");
  EXPECT_EQ(param([](InstanceOptions& o) { o.step_time_target = Nanoseconds(0); }),
            "step_time_target");
}

// Pages are leased as tokens come: half a page per group and sequence is the waste.
TEST_F(InstanceInvariant, FragmentationIsTheTailOfTheLastPage) {
  make();
  model_->on_forward = [&](const model::BatchView&) -> Result<void> {
    clock_.advance(std::chrono::milliseconds(10));
    return {};
  };
  submit({.prompt = std::vector<Token>(256, 1), .max_new_tokens = 257});
  finish_all();
  // Pages of 16 and 64 tokens: about (8 + 32) of 2 * 384 slots.
  EXPECT_NEAR(instance_->stats().kv_time.fragmentation(), 40.0 / 768.0, 0.01);
  EXPECT_EQ(instance_->stats().prompt_tokens, 256);
  EXPECT_EQ(instance_->stats().output_tokens, 257);
}

}  // namespace
}  // namespace o3::engine
