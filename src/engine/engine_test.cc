// SPDX-License-Identifier: Apache-2.0
// The engine with its thread and real callers; meant to be run under ThreadSanitizer too.
#include "engine/engine.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <ctime>
#include <map>
#include <random>
#include <semaphore>
#include <thread>

#include "cache/testing/fake_backend.h"
#include "engine/inbox.h"
#include "engine/testing/fake_model.h"
#include "engine/testing/test_support.h"

namespace o3::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class EngineInvariant : public testing::Test {
 protected:
  void make(InstanceOptions options = {}, int32_t pages = 400, int32_t max_waiting = 1024) {
    options.page_tokens = 16;
    options.kv_bytes = pages * 2 * 16 * 16 * 4;
    engine_ = *Engine::create({.max_waiting = max_waiting}, clock_, metrics_);
    ASSERT_TRUE(engine_->load(options, backend_, model_).ok());
  }
  Result<void> submit(Ask ask) { return engine_->submit(make_request(std::move(ask)), sink_); }
  Code refusal(Ask ask) {
    const auto submitted = submit(std::move(ask));
    return submitted.ok() ? Code::kInternal : submitted.error().code;
  }
  // The forward pass waits for each release of gate_.
  void hold_steps() {
    model_->on_forward = [this](const model::BatchView&) -> Result<void> {
      entered_.release();
      gate_.acquire();
      return {};
    };
  }
  void release_steps() { gate_.release(1000000); }

  std::counting_semaphore<> entered_{0};
  std::counting_semaphore<> gate_{0};
  cache::FakeBackend backend_;
  SystemClock clock_;
  prometheus::Registry registry_;
  EngineMetrics metrics_{registry_};
  std::shared_ptr<FakeModel> model_ = std::make_shared<FakeModel>(50, 2000);
  std::shared_ptr<RecordingSink> sink_ = std::make_shared<RecordingSink>();
  std::unique_ptr<Engine> engine_;
};

TEST_F(EngineInvariant, AnIdleEngineSleepsAndWakesAtOnce) {
  make();
  for (uint64_t id = 1; id <= 3; ++id) {
    ASSERT_TRUE(submit({.id = id}).ok());
    sink_->wait_for_finished(static_cast<int>(id));
    EXPECT_EQ(sink_->record(id).tokens, model_->continuation({1, 2, 3}, 4));
  }
  const std::clock_t before = std::clock();  // processor time, so a busy machine does not matter
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.1);
}

// Many threads that submit and cancel at random until the engine closes; afterwards every promise
// about Finish is checked.
class Load {
 public:
  Load(Engine& engine, const Clock& clock) : engine_(engine), clock_(clock) {
    for (auto& sink : sinks_) sink = std::make_shared<RecordingSink>();
    for (uint64_t t = 0; t < kThreads; ++t) threads_.emplace_back([this, t] { work(t); });
  }
  void wait_for_an_accepted() { any_accepted_.wait(false); }
  void join() {
    for (std::thread& thread : threads_) thread.join();
  }
  void check() const {
    std::map<uint64_t, RecordingSink::Record> all;
    for (const auto& sink : sinks_) {
      for (auto& [id, record] : sink->records()) all[id] = record;
    }
    size_t accepted = 0;
    for (const auto& ids : accepted_) {
      accepted += ids.size();
      for (const uint64_t id : ids) {
        ASSERT_EQ(all[id].finishes.size(), 1u) << id;
        ASSERT_FALSE(all[id].after_finish) << id;
      }
    }
    EXPECT_GT(accepted, 0u);
    EXPECT_EQ(all.size(), accepted) << "a refused request got something";
  }

 private:
  static constexpr uint64_t kThreads = 6;
  static constexpr uint64_t kMost = 100'000;  // of one thread, should the engine never close

  void work(uint64_t thread) {
    std::mt19937 random(static_cast<uint32_t>(thread));
    int refusals = 5;  // some more after the engine has closed
    for (uint64_t i = 1; i <= kMost && refusals > 0; ++i) {
      Ask ask{.id = thread * kMost + i,
              .prompt = std::vector<Token>(1 + random() % 60, 5),
              .max_new_tokens = static_cast<int32_t>(1 + random() % 20),
              .request_class = static_cast<RequestClass>(random() % 4)};
      if (random() % 5 == 0) ask.deadline = clock_.monotonic() + milliseconds(random() % 10);
      const auto submitted =
          engine_.submit(make_request(std::move(ask)), sinks_[i % sinks_.size()]);
      if (submitted.ok()) {
        accepted_[thread].push_back(thread * kMost + i);
        any_accepted_ = true;
        any_accepted_.notify_all();
      } else if (submitted.error().code == Code::kUnavailable) {
        --refusals;
      }
      if (random() % 3 == 0) {
        engine_.cancel(RequestId{random() % kThreads * kMost + 1 + random() % i});
      }
      if (random() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 900));
    }
  }

  Engine& engine_;
  const Clock& clock_;
  std::array<std::shared_ptr<RecordingSink>, 3> sinks_;
  std::array<std::vector<uint64_t>, kThreads> accepted_;
  std::atomic<bool> any_accepted_{false};
  std::vector<std::thread> threads_;
};

TEST_F(EngineInvariant, EveryAcceptedRequestEndsInExactlyOneFinish) {
  make({.max_running = 8, .max_step_rows = 64}, 400, 50);
  Load load(*engine_, clock_);
  load.wait_for_an_accepted();
  std::this_thread::sleep_for(milliseconds(8));
  engine_->drain(milliseconds(5));  // while others still submit
  EXPECT_FALSE(engine_->ready());
  load.join();
  load.check();
  EXPECT_EQ(metrics_.kv_blocks_used.Value(), 0);
  EXPECT_EQ(metrics_.requests_running.Value(), 0);
  EXPECT_EQ(metrics_.requests_waiting.Value(), 0);
}

TEST_F(EngineInvariant, AFailureUnderLoadAlsoFinishesEverything) {
  std::atomic<int> steps{0};
  model_->on_forward = [&](const model::BatchView&) -> Result<void> {
    if (++steps > 20) return Error{Code::kInternal, "the device is gone", {}};
    return {};
  };
  make({.max_running = 8, .max_step_rows = 64}, 400, 50);
  Load load(*engine_, clock_);
  load.join();
  engine_->drain(seconds(60));
  load.check();
  EXPECT_EQ(metrics_.kv_blocks_used.Value(), 0);
}

TEST_F(EngineInvariant, TheQueueIsBounded) {
  hold_steps();
  make({.max_running = 1, .max_step_rows = 64}, 400, 3);
  ASSERT_TRUE(submit({.id = 1}).ok());
  entered_.acquire();  // 1 runs, and waits no more
  EXPECT_TRUE(submit({.id = 2}).ok());
  EXPECT_TRUE(submit({.id = 3}).ok());
  gate_.release();
  entered_.acquire();  // 2 and 3 are with the scheduler now, and still count
  EXPECT_TRUE(submit({.id = 4}).ok());
  EXPECT_EQ(refusal({.id = 5}), Code::kExhausted);
  release_steps();
  sink_->wait_for_finished(4);
  engine_->drain(seconds(60));
  EXPECT_EQ(sink_->record(5).finishes.size(), 0u);
}

TEST(InboxInvariant, ManyCancelsOfOneRequestAreOne) {
  Inbox inbox(10);
  inbox.open_instance(InstanceId{});
  ASSERT_TRUE(inbox.submit({make_request({.id = 1}), nullptr}).ok());
  for (int i = 0; i < 1000; ++i) {
    inbox.cancel(RequestId{1});
    inbox.cancel(RequestId{2});
  }
  Commands commands;
  inbox.take(commands, false, 0);
  EXPECT_EQ(commands.submissions.size(), 1u);
  EXPECT_EQ(commands.cancels, std::vector<RequestId>{RequestId{1}});
}

TEST_F(EngineInvariant, ARefusedRequestGetsNothing) {
  hold_steps();
  make();
  EXPECT_EQ(refusal({.id = 1, .prompt = {}}), Code::kInvalid);
  EXPECT_EQ(refusal({.id = 1, .max_new_tokens = 5000}), Code::kTooLong);
  Request elsewhere = *make_request({.id = 1});
  elsewhere.instance = InstanceId{7};
  const auto nowhere = engine_->submit(std::make_shared<const Request>(elsewhere), sink_);
  ASSERT_FALSE(nowhere.ok());
  EXPECT_EQ(nowhere.error().code, Code::kNotFound);
  ASSERT_TRUE(submit({.id = 2}).ok());
  EXPECT_EQ(refusal({.id = 2}), Code::kConflict) << "an id is alive until its Finish";
  release_steps();
  engine_->drain(seconds(60));
  EXPECT_EQ(refusal({.id = 3}), Code::kUnavailable);
  EXPECT_EQ(sink_->finished(), 1);
  EXPECT_EQ(sink_->records().size(), 1u);
}

TEST_F(EngineInvariant, AnIdMayBeUsedAgainAfterItsFinish) {
  make();
  for (int round = 1; round <= 20; ++round) {
    while (!submit({.id = 1}).ok()) std::this_thread::yield();
    sink_->wait_for_finished(round);
  }
}

TEST_F(EngineInvariant, PagesReturnWithinOneStepOfACancel) {
  std::atomic<int> steps{0};
  model_->on_forward = [&](const model::BatchView&) -> Result<void> {
    ++steps;
    std::this_thread::sleep_for(milliseconds(2));
    return {};
  };
  make();
  ASSERT_TRUE(submit({.id = 1, .max_new_tokens = 1900}).ok());
  sink_->wait_for_tokens(1, 3);
  EXPECT_GT(metrics_.kv_blocks_used.Value(), 0);
  const int at_cancel = steps;
  engine_->cancel(RequestId{1});
  sink_->wait_for_finished(1);
  EXPECT_LE(steps - at_cancel, 1);
  EXPECT_EQ(metrics_.kv_blocks_used.Value(), 0);
  EXPECT_EQ(metrics_.requests_running.Value(), 0);
  EXPECT_EQ(sink_->record(1).finishes[0].outcome, Outcome::kCancelled);
}

TEST_F(EngineInvariant, CancelOfUnknownOrFinishedIsIgnored) {
  make();
  engine_->cancel(RequestId{12});
  ASSERT_TRUE(submit({.id = 1}).ok());
  sink_->wait_for_finished(1);
  engine_->cancel(RequestId{1});
  ASSERT_TRUE(submit({.id = 2}).ok());
  sink_->wait_for_finished(2);
  EXPECT_EQ(sink_->record(2).finishes[0].outcome, Outcome::kLength);
}

TEST_F(EngineInvariant, DrainLetsWorkFinish) {
  make();
  for (uint64_t id = 1; id <= 20; ++id) ASSERT_TRUE(submit({.id = id, .max_new_tokens = 50}).ok());
  EXPECT_TRUE(engine_->ready());
  engine_->drain(Nanoseconds::max());
  EXPECT_FALSE(engine_->ready());
  EXPECT_EQ(sink_->finished(), 20);
  for (uint64_t id = 1; id <= 20; ++id) EXPECT_EQ(sink_->record(id).tokens.size(), 50u);
}

TEST_F(EngineInvariant, DrainCancelsAtItsTimeout) {
  model_->on_forward = [](const model::BatchView&) -> Result<void> {
    std::this_thread::sleep_for(milliseconds(5));
    return {};
  };
  make({.max_running = 2, .max_step_rows = 64});
  for (uint64_t id = 1; id <= 4; ++id) ASSERT_TRUE(submit({.id = id, .max_new_tokens = 1900}).ok());
  engine_->drain(milliseconds(30));
  EXPECT_EQ(sink_->finished(), 4);
  for (uint64_t id = 1; id <= 4; ++id) {
    EXPECT_EQ(sink_->record(id).finishes[0].outcome, Outcome::kCancelled);
  }
}

TEST_F(EngineInvariant, DestructionFinishesEverything) {
  make({.max_running = 4, .max_step_rows = 64});
  for (uint64_t id = 1; id <= 10; ++id)
    ASSERT_TRUE(submit({.id = id, .max_new_tokens = 1500}).ok());
  sink_->wait_for_tokens(1, 2);
  engine_.reset();
  EXPECT_EQ(sink_->finished(), 10);
  EXPECT_EQ(backend_.allocated(device::MemTag::kKv), 0u);
  make();
  engine_.reset();  // with nothing to do
}

TEST_F(EngineInvariant, AfterABackendFailureTheEngineIsNotReady) {
  std::atomic<bool> broken{false};
  model_->on_forward = [&](const model::BatchView&) -> Result<void> {
    if (broken) return Error{Code::kInternal, "the device is gone", {}};
    return {};
  };
  make({.max_running = 2, .max_step_rows = 64});
  for (uint64_t id = 1; id <= 5; ++id) ASSERT_TRUE(submit({.id = id, .max_new_tokens = 1900}).ok());
  sink_->wait_for_tokens(1, 1);
  EXPECT_TRUE(engine_->ready());
  broken = true;
  sink_->wait_for_finished(5);
  EXPECT_FALSE(engine_->ready()) << "who sees the failure also sees that";
  EXPECT_EQ(refusal({.id = 6}), Code::kUnavailable);
  for (uint64_t id = 1; id <= 5; ++id) {
    EXPECT_EQ(sink_->record(id).finishes[0].error->code, Code::kUnavailable);
  }
  EXPECT_EQ(metrics_.kv_blocks_used.Value(), 0);
}

TEST_F(EngineInvariant, ReadyFollowsTheBackendsHealth) {
  make();
  EXPECT_TRUE(engine_->ready());
  backend_.health = false;
  EXPECT_FALSE(engine_->ready());
}

TEST_F(EngineInvariant, MetricsTellTheState) {
  hold_steps();
  make({.max_running = 2, .max_step_rows = 64});
  EXPECT_EQ(metrics_.kv_blocks_total.Value(), 400);
  for (uint64_t id = 1; id <= 3; ++id) ASSERT_TRUE(submit({.id = id}).ok());
  gate_.release(2);
  for (int i = 0; i < 3; ++i) entered_.acquire();  // two steps are over, the third is held
  EXPECT_EQ(metrics_.requests_running.Value(), 2);
  EXPECT_EQ(metrics_.requests_waiting.Value(), 1);
  EXPECT_EQ(metrics_.kv_blocks_used.Value(), 4);      // two groups each
  EXPECT_GT(metrics_.kv_fragmentation.Value(), 0.9);  // a few tokens in pages of 16 and 64
  EXPECT_LT(metrics_.kv_fragmentation.Value(), 1.0);
  release_steps();
  sink_->wait_for_finished(3);
  EXPECT_EQ(metrics_.prompt_tokens.Value(), 9);
  EXPECT_EQ(metrics_.output_tokens.Value(), 12);
  EXPECT_EQ(metrics_.kv_blocks_used.Value(), 0);
  EXPECT_EQ(metrics_.preemptions.Value(), 0);
  engine_.reset();
  while (gate_.try_acquire()) {
  }
  make({}, 16);  // two long answers do not fit, and neither ends before the other has come
  for (uint64_t id = 4; id <= 5; ++id) ASSERT_TRUE(submit({.id = id, .max_new_tokens = 170}).ok());
  release_steps();
  sink_->wait_for_finished(5);
  EXPECT_EQ(metrics_.preemptions.Value(), 1);
}

TEST_F(EngineInvariant, AnInstanceTellsItsLimits) {
  make();
  EXPECT_EQ(engine_->instance(InstanceId{0}).vocabulary, 50);
  EXPECT_EQ(engine_->instance(InstanceId{0}).context, 2000);
  EXPECT_EQ(engine_->instance(InstanceId{1}).vocabulary, 0);
  make({}, 6);
  EXPECT_EQ(engine_->instance(InstanceId{0}).context, 64);
}

}  // namespace
}  // namespace o3::engine
