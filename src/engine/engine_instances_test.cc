// SPDX-License-Identifier: Apache-2.0
// Several models in one engine: they load and unload while others serve.
#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <atomic>
#include <semaphore>
#include <thread>

#include "cache/testing/fake_backend.h"
#include "engine/engine.h"
#include "engine/testing/fake_model.h"
#include "engine/testing/test_support.h"

namespace o3::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class InstancesInvariant : public testing::Test {
 protected:
  InstanceId load(const std::shared_ptr<FakeModel>& model, int32_t pages = 400) {
    const auto id = engine_->load({.kv_bytes = pages * int64_t{2 * 16 * 16 * 4},
                                   .page_tokens = 16,
                                   .max_running = 8,
                                   .max_step_rows = 64},
                                  backend_, model);
    EXPECT_TRUE(id.ok()) << id.error().message;
    return *id;
  }
  Result<void> submit(InstanceId instance, Ask ask) {
    Request request = *make_request(std::move(ask));
    request.instance = instance;
    return engine_->submit(std::make_shared<const Request>(std::move(request)), sink_);
  }

  cache::FakeBackend backend_;
  SystemClock clock_;
  prometheus::Registry registry_;
  EngineMetrics metrics_{registry_};
  std::shared_ptr<RecordingSink> sink_ = std::make_shared<RecordingSink>();
  std::shared_ptr<FakeModel> small_ = std::make_shared<FakeModel>(50, 2000);
  std::shared_ptr<FakeModel> large_ = std::make_shared<FakeModel>(90, 1000);
  std::unique_ptr<Engine> engine_ = *Engine::create({}, clock_, metrics_);
};

TEST_F(InstancesInvariant, InstancesServeSideBySide) {
  const InstanceId small = load(small_);
  const InstanceId large = load(large_);
  EXPECT_EQ(small.value, 0U);
  EXPECT_NE(small, large);
  EXPECT_EQ(engine_->instance(small).vocabulary, 50);
  EXPECT_EQ(engine_->instance(large).vocabulary, 90);
  for (uint64_t id = 1; id <= 20; ++id) {
    ASSERT_TRUE(submit(id % 2 == 0 ? small : large, {.id = id, .max_new_tokens = 60}).ok());
  }
  sink_->wait_for_finished(20);
  for (uint64_t id = 1; id <= 20; ++id) {
    const FakeModel& model = id % 2 == 0 ? *small_ : *large_;
    EXPECT_EQ(sink_->record(id).tokens, model.continuation({1, 2, 3}, 60)) << id;
  }
  EXPECT_EQ(metrics_.kv_blocks_total.Value(), 800);
  EXPECT_EQ(metrics_.output_tokens.Value(), 20 * 60);
}

TEST_F(InstancesInvariant, AModelLoadsWhileOthersServe) {
  std::atomic<int> steps{0};
  small_->on_forward = [&](const model::BatchView&) -> Result<void> {
    ++steps;
    std::this_thread::sleep_for(milliseconds(1));
    return {};
  };
  const InstanceId small = load(small_);
  ASSERT_TRUE(submit(small, {.id = 1, .max_new_tokens = 1500}).ok());
  sink_->wait_for_tokens(1, 2);
  const InstanceId large = load(large_);
  ASSERT_TRUE(submit(large, {.id = 2}).ok());
  sink_->wait_for_finished(1);
  EXPECT_EQ(sink_->record(2).tokens, large_->continuation({1, 2, 3}, 4));
  EXPECT_TRUE(sink_->record(1).finishes.empty());
  engine_->cancel(RequestId{1});
  sink_->wait_for_finished(2);
}

TEST_F(InstancesInvariant, UnloadingFinishesWorkAndFreesMemory) {
  const InstanceId small = load(small_);
  const size_t one = backend_.allocated(device::MemTag::kKv);
  const InstanceId large = load(large_);
  for (uint64_t id = 1; id <= 10; ++id) {
    ASSERT_TRUE(submit(large, {.id = id, .max_new_tokens = 50}).ok());
  }
  EXPECT_TRUE(engine_->unload(large, Nanoseconds::max()).ok());
  EXPECT_EQ(sink_->finished(), 10);
  for (uint64_t id = 1; id <= 10; ++id) EXPECT_EQ(sink_->record(id).tokens.size(), 50U);
  EXPECT_EQ(backend_.allocated(device::MemTag::kKv), one);
  EXPECT_EQ(large_.use_count(), 1) << "the model is let go";
  EXPECT_EQ(metrics_.output_tokens.Value(), 500) << "counters never go back";
  EXPECT_EQ(submit(large, {.id = 11}).error().code, Code::kNotFound);
  EXPECT_EQ(engine_->unload(large, seconds(1)).error().code, Code::kNotFound);
  EXPECT_EQ(engine_->instance(large).context, 0);
  EXPECT_TRUE(submit(small, {.id = 12}).ok());
  sink_->wait_for_finished(11);
  EXPECT_NE(load(large_), large) << "an id is never given twice";
}

TEST_F(InstancesInvariant, UnloadingCancelsAtItsTimeout) {
  small_->on_forward = [](const model::BatchView&) -> Result<void> {
    std::this_thread::sleep_for(milliseconds(1));
    return {};
  };
  const InstanceId small = load(small_);
  const InstanceId large = load(large_);
  ASSERT_TRUE(submit(small, {.id = 1, .max_new_tokens = 1900}).ok());
  sink_->wait_for_tokens(1, 1);
  EXPECT_TRUE(engine_->unload(small, milliseconds(5)).ok());
  ASSERT_EQ(sink_->record(1).finishes.size(), 1U);
  EXPECT_EQ(sink_->record(1).finishes[0].outcome, Outcome::kCancelled);
  EXPECT_TRUE(submit(large, {.id = 2}).ok());
  sink_->wait_for_finished(2);
}

TEST_F(InstancesInvariant, AModelThatCannotBeLoadedChangesNothing) {
  const InstanceId small = load(small_);
  const size_t before = backend_.allocated(device::MemTag::kKv);
  const auto refused = engine_->load({.kv_bytes = 1}, backend_, large_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().param, "kv_bytes");
  EXPECT_EQ(backend_.allocated(device::MemTag::kKv), before);
  EXPECT_TRUE(submit(small, {.id = 1}).ok());
  sink_->wait_for_finished(1);
}

// Models come and go while threads submit to whatever there is: each accepted request ends once.
TEST_F(InstancesInvariant, ComingAndGoingLosesNothing) {
  std::atomic<uint32_t> newest{load(small_).value};
  std::atomic<bool> stop{false};
  std::atomic<int> accepted{0};
  std::vector<std::thread> clients;
  for (uint64_t t = 0; t < 3; ++t) {
    clients.emplace_back([&, t] {
      for (uint64_t i = 0; !stop; ++i) {
        const uint64_t id = 1 + t + 3 * i;
        const auto sent = submit(InstanceId{newest}, {.id = id, .max_new_tokens = 5});
        if (sent.ok()) {
          ++accepted;
        } else {
          EXPECT_NE(sent.error().code, Code::kConflict) << sent.error().message;
        }
        if (i % 4 == 0) engine_->cancel(RequestId{id});
        if (i % 16 == 0) std::this_thread::sleep_for(milliseconds(1));
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    const InstanceId old{newest};
    newest = load(round % 2 == 0 ? large_ : small_, 20).value;
    const auto unloaded = engine_->unload(old, round % 3 == 0 ? Nanoseconds(0) : seconds(30));
    EXPECT_TRUE(unloaded.ok());
  }
  stop = true;
  for (std::thread& client : clients) client.join();
  engine_->drain(seconds(60));
  EXPECT_EQ(sink_->finished(), accepted);
  for (const auto& [id, record] : sink_->records()) {
    EXPECT_EQ(record.finishes.size(), 1U) << id;
    EXPECT_FALSE(record.after_finish) << id;
  }
}

}  // namespace
}  // namespace o3::engine
