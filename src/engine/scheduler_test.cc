// SPDX-License-Identifier: Apache-2.0
// The scheduler's invariants one by one (docs/engine.md); scheduler_simulation_test.cc checks them
// together on random loads.
#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include "cache/testing/fake_backend.h"
#include "engine/testing/test_support.h"

namespace o3::engine {
namespace {

using std::chrono::milliseconds;

class SchedulerTest : public testing::Test {
 protected:
  // Prefixes are shared where a test says so: its sequences have the same tokens.
  void make(uint32_t blocks, SchedulerLimits limits = {}, bool share_prefixes = false) {
    limits.share_prefixes = share_prefixes;
    scheduler_.reset();
    auto layout =
        *cache::make_page_layout(std::vector{cache::CacheSpec{.kv_heads = 1, .head_dim = 8}}, 16);
    pool_ = *cache::BlockPool::create(backend_, std::move(layout), blocks);
    scheduler_ = std::make_unique<Scheduler>(limits, *pool_);
  }
  Sequence& add(uint64_t id, size_t prompt, int32_t max_new,
                RequestClass request_class = RequestClass::kNormal,
                std::optional<Nanoseconds> deadline = std::nullopt) {
    return scheduler_->enqueue(
        std::make_unique<Sequence>(make_request({.id = id,
                                                 .prompt = std::vector<Token>(prompt, 1),
                                                 .max_new_tokens = max_new,
                                                 .request_class = request_class,
                                                 .deadline = deadline}),
                                   nullptr));
  }
  // Plans and commits; what sampled gets a token when the step comes back.
  void begin(Nanoseconds now = {}) {
    scheduler_->plan(now, plan_);
    scheduler_->commit(plan_);
  }
  void end(Nanoseconds took = milliseconds(1)) {
    for (const SequenceRows& share : plan_.rows) {
      Sequence& sequence = *share.sequence;
      if (!share.sample || sequence.retiring) continue;
      sequence.sampled.push_back(7);
      if (std::ssize(sequence.sampled) == sequence.work().max_new_tokens) {
        scheduler_->retire(sequence, Outcome::kLength);
      }
    }
    scheduler_->complete(plan_, took);
    released_.clear();
    scheduler_->reap(released_);
  }
  void step(Nanoseconds took = milliseconds(1)) {
    begin();
    end(took);
  }
  // Rows of a request in the last plan.
  int32_t rows(uint64_t id) const {
    for (const SequenceRows& share : plan_.rows) {
      if (share.sequence->request->id.value == id) return share.rows;
    }
    return 0;
  }

  cache::FakeBackend backend_;
  std::unique_ptr<cache::BlockPool> pool_;
  std::unique_ptr<Scheduler> scheduler_;
  StepPlan plan_;
  std::vector<std::unique_ptr<Sequence>> released_;
};

using SchedulerInvariant = SchedulerTest;

TEST_F(SchedulerInvariant, PlanningHasNoSideEffects) {
  make(100);
  add(1, 20, 4);
  add(2, 20, 4);
  step();
  StepPlan one;
  StepPlan two;
  const uint32_t free = pool_->free_blocks();
  scheduler_->plan({}, one);
  scheduler_->plan({}, two);
  EXPECT_EQ(pool_->free_blocks(), free);
  EXPECT_EQ(scheduler_->running(), 2);
  ASSERT_EQ(one.rows.size(), two.rows.size());
  for (size_t i = 0; i < one.rows.size(); ++i) {
    EXPECT_EQ(one.rows[i].sequence, two.rows[i].sequence);
    EXPECT_EQ(one.rows[i].rows, two.rows[i].rows);
    EXPECT_EQ(one.rows[i].sequence->inflight, 0);
  }
}

TEST_F(SchedulerInvariant, OnlyCommitAdmitsAndLeases) {
  make(100);
  Sequence& sequence = add(1, 40, 30);
  EXPECT_EQ(scheduler_->waiting(), 1);
  scheduler_->plan({}, plan_);
  EXPECT_FALSE(sequence.running);
  EXPECT_EQ(pool_->free_blocks(), 100u);
  scheduler_->commit(plan_);
  EXPECT_TRUE(sequence.running);
  EXPECT_EQ(scheduler_->waiting(), 0);
  EXPECT_EQ(pool_->free_blocks(), 97u);         // 40 tokens now
  EXPECT_EQ(scheduler_->pages().charged(), 5);  // 40 + 30 - 1 in the end
  end();
  // Pages come as they are needed: tokens 41 to 48 fit, the next takes a page.
  for (int i = 0; i < 8; ++i) step();
  EXPECT_EQ(pool_->free_blocks(), 97u);
  step();
  EXPECT_EQ(pool_->free_blocks(), 96u);
  EXPECT_EQ(scheduler_->pages().usage(), (cache::SlotUsage{.leased = 64, .written = 49}));
}

TEST_F(SchedulerInvariant, ChargesNeverExceedThePool) {
  make(10);
  add(1, 16, 65);  // 80 slots: 5 pages
  add(2, 16, 65);
  add(3, 1, 1);
  step();
  EXPECT_EQ(scheduler_->running(), 2);
  EXPECT_EQ(scheduler_->pages().charged(), 10);
  // Although most of the pages are still free, they are promised.
  EXPECT_EQ(pool_->free_blocks(), 8u);
  EXPECT_EQ(scheduler_->waiting(), 1);
  scheduler_->retire(RequestId{1}, Outcome::kCancelled);
  step();
  step();
  EXPECT_EQ(scheduler_->waiting(), 0);
}

TEST_F(SchedulerInvariant, ReleaseOnlyWhenRetiringAndNotInFlight) {
  make(10);
  add(1, 20, 4);
  begin();
  scheduler_->retire(RequestId{1}, Outcome::kCancelled);
  scheduler_->reap(released_);
  EXPECT_TRUE(released_.empty()) << "released while a step holds its pages";
  EXPECT_EQ(pool_->free_blocks(), 8u);
  end();
  EXPECT_EQ(released_.size(), 1u);
  EXPECT_EQ(pool_->free_blocks(), 10u);
  EXPECT_TRUE(scheduler_->empty());
  EXPECT_EQ(scheduler_->pages().usage(), cache::SlotUsage{});
  EXPECT_EQ(scheduler_->pages().charged(), 0);
}

TEST_F(SchedulerInvariant, FirstComeFirstServedWithinAClass) {
  make(100, {.max_running = 2, .max_step_rows = 64});
  for (uint64_t id = 1; id <= 6; ++id) add(id, 8, 2);
  std::vector<uint64_t> order;
  while (!scheduler_->empty()) {
    step();
    for (const auto& sequence : released_) order.push_back(sequence->request->id.value);
  }
  EXPECT_EQ(order, (std::vector<uint64_t>{1, 2, 3, 4, 5, 6}));
}

TEST_F(SchedulerInvariant, HigherClassesGoFirst) {
  make(100, {.max_running = 1, .max_step_rows = 64});
  add(1, 8, 1, RequestClass::kLow);
  add(2, 8, 1, RequestClass::kNormal);
  add(3, 8, 1, RequestClass::kCritical);
  add(4, 8, 1, RequestClass::kHigh);
  add(5, 8, 1, RequestClass::kCritical);
  std::vector<uint64_t> order;
  while (!scheduler_->empty()) {
    step();
    for (const auto& sequence : released_) order.push_back(sequence->request->id.value);
  }
  EXPECT_EQ(order, (std::vector<uint64_t>{3, 5, 4, 2, 1}));
}

TEST_F(SchedulerInvariant, HigherClassesGetPrefillRowsFirst) {
  make(100, {.max_running = 8, .max_step_rows = 32});
  add(1, 100, 1, RequestClass::kLow);
  step();
  EXPECT_EQ(rows(1), 32);
  add(2, 40, 1, RequestClass::kHigh);
  begin();
  EXPECT_EQ(rows(2), 32);
  EXPECT_EQ(rows(1), 0);
}

TEST_F(SchedulerInvariant, NobodyPassesTheFirstThatDoesNotFit) {
  make(10);
  add(1, 16, 100);  // 5 pages at first, 8 in the end
  step();
  add(2, 96, 17);  // 7 pages: waits
  add(3, 1, 1);    // would fit
  add(4, 1, 1, RequestClass::kLow);
  for (int i = 0; i < 98; ++i) {
    step();
    ASSERT_EQ(scheduler_->waiting(), 3);
  }
  step();  // 1 finishes
  step();
  EXPECT_EQ(rows(2), 96);
  EXPECT_EQ(rows(3), 1);
  EXPECT_EQ(rows(4), 1);
}

TEST_F(SchedulerInvariant, AdmissionAsksForWhatIsNeededNext) {
  make(100);
  for (uint64_t id = 1; id <= 12; ++id) add(id, 20, 1500);  // 95 pages each, if they go so far
  step();
  EXPECT_EQ(scheduler_->running(), 12);
  EXPECT_EQ(scheduler_->pages().charged(), 12 * 6);  // 20 tokens and 64 to come
  EXPECT_EQ(pool_->free_blocks(), 100u - 12 * 2);
  for (int i = 0; i < 65; ++i) step();
  EXPECT_EQ(scheduler_->running(), 12);
  EXPECT_GT(scheduler_->pages().charged(), 12 * 6);
}

TEST_F(SchedulerInvariant, TheLastInOrderMakesRoom) {
  make(12);
  Sequence& low = add(1, 20, 170, RequestClass::kLow);  // came first, but its class is last
  Sequence& oldest = add(2, 20, 170);                   // 12 pages in the end: all there are
  step();
  ASSERT_EQ(scheduler_->running(), 2);
  while (scheduler_->preemptions() == 0) step();
  EXPECT_FALSE(low.running);
  EXPECT_EQ(rows(1), 0);
  EXPECT_EQ(rows(2), 1) << "the first in order goes on in the same step";
  EXPECT_TRUE(low.tables.empty());
  EXPECT_EQ(low.filled, 0);
  const auto kept = low.sampled.size();
  EXPECT_GT(kept, 64u);
  add(3, 1, 1, RequestClass::kLow);
  while (oldest.running && !oldest.retiring) {
    ASSERT_EQ(low.sampled.size(), kept);
    ASSERT_EQ(scheduler_->waiting(), 2) << "nobody passes who was preempted";
    step();
    if (!released_.empty()) break;
  }
  step();
  EXPECT_EQ(rows(1), 20 + static_cast<int32_t>(kept)) << "all its tokens are computed again";
  EXPECT_EQ(rows(3), 1);
  EXPECT_EQ(low.sampled.size(), kept + 1);
  while (!scheduler_->empty()) step();
  EXPECT_EQ(scheduler_->preemptions(), 1);
}

TEST_F(SchedulerInvariant, WhoRunsAloneIsNeverPreempted) {
  make(12);
  add(1, 20, 173);  // the whole pool in the end
  while (!scheduler_->empty()) step();
  EXPECT_EQ(scheduler_->preemptions(), 0);
  EXPECT_EQ(pool_->free_blocks(), 12u);
}

// Pages of cancelled and expired sequences serve the step that sees them end, before anybody is
// preempted for them.
TEST_F(SchedulerTest, PagesOfTheRetiringAreUsedFirst) {
  make(12);
  add(1, 20, 170);
  Sequence& second = add(2, 20, 170);
  add(3, 20, 4, RequestClass::kLow);
  while (scheduler_->preemptions() == 0) {
    const bool next_would = scheduler_->pages().charged() == 12;
    if (next_would) scheduler_->retire(RequestId{1}, Outcome::kCancelled);
    step();
    if (next_would) break;
  }
  EXPECT_EQ(scheduler_->preemptions(), 0);
  EXPECT_TRUE(second.running);
  while (!scheduler_->empty()) step();
}

TEST_F(SchedulerInvariant, RunningSequencesProgressEveryStep) {
  make(1000, {.max_running = 8, .max_step_rows = 8, .step_time_target = milliseconds(1)});
  for (uint64_t id = 1; id <= 7; ++id) add(id, 1, 100);
  step();
  ASSERT_EQ(plan_.rows.size(), 7u);
  add(8, 50, 1);
  for (int i = 0; i < 50; ++i) {
    step(milliseconds(100));  // far over the target
    for (uint64_t id = 1; id <= 7; ++id) ASSERT_EQ(rows(id), 1);
    ASSERT_EQ(rows(8), 1) << "the prompt gets what room there is";
  }
  EXPECT_EQ(released_.size(), 1u);
}

TEST_F(SchedulerInvariant, TheStepTimeTargetSetsThePrefillBudget) {
  make(10000, {.max_running = 8, .max_step_rows = 512, .step_time_target = milliseconds(25)});
  const auto took = [](int32_t rows) {
    return milliseconds(5) + rows * std::chrono::microseconds(250);
  };
  const auto timed_step = [&] {
    begin();
    end(took(plan_.total_rows));
  };
  add(1, 600, 500);
  timed_step();
  EXPECT_EQ(plan_.total_rows, 512) << "nobody decodes, so nobody is delayed";
  timed_step();
  for (int i = 0; i < 10; ++i) timed_step();
  add(2, 2000, 4);
  int32_t chunks = 0;
  while (scheduler_->waiting() + rows(2) > 0 || plan_.prefill_rows > 0) {
    timed_step();
    if (plan_.prefill_rows == 0) break;
    ++chunks;
    // 25 ms allow 80 rows; the last chunk may be shorter.
    EXPECT_LE(took(plan_.total_rows), milliseconds(25) + milliseconds(1));
    EXPECT_EQ(rows(1), 1);
  }
  EXPECT_NEAR(chunks, 2000.0 / 79.0, 3.0) << "the budget is used";
}

TEST_F(SchedulerInvariant, ADeadlineEndsWaitingAndRunning) {
  make(10, {.max_running = 1, .max_step_rows = 64});
  add(1, 8, 100, RequestClass::kNormal, milliseconds(10));
  add(2, 8, 100, RequestClass::kNormal, milliseconds(10));
  add(3, 8, 100, RequestClass::kNormal, milliseconds(11));
  begin(milliseconds(9));
  EXPECT_EQ(rows(1), 8);
  end();
  begin(milliseconds(10));
  EXPECT_TRUE(plan_.rows.empty()) << "the place is free for the next step only";
  end();
  ASSERT_EQ(released_.size(), 2u);
  for (const auto& sequence : released_) {
    EXPECT_EQ(sequence->outcome, Outcome::kDeadline);
    EXPECT_EQ(sequence->error->code, Code::kDeadline);
  }
  begin(milliseconds(10));
  EXPECT_EQ(rows(3), 8);
}

TEST_F(SchedulerTest, TheFirstOutcomeStays) {
  make(10);
  add(1, 8, 4);
  scheduler_->retire(RequestId{1}, Outcome::kDeadline);
  scheduler_->retire(RequestId{1}, Outcome::kCancelled);
  scheduler_->retire_all(Outcome::kError);
  scheduler_->retire(RequestId{99}, Outcome::kError);
  scheduler_->reap(released_);
  ASSERT_EQ(released_.size(), 1u);
  EXPECT_EQ(released_[0]->outcome, Outcome::kDeadline);
}

TEST_F(SchedulerTest, OnlyTheLastChunkSamples) {
  make(10, {.max_running = 4, .max_step_rows = 16});
  add(1, 33, 2);
  for (const int32_t expected : {16, 16, 1, 1}) {
    begin();
    ASSERT_EQ(rows(1), expected);
    EXPECT_EQ(plan_.rows[0].sample, expected == 1);
    end();
  }
  EXPECT_TRUE(scheduler_->empty());
}

TEST(StepCost, LearnsBaseAndSlope) {
  StepCost cost;
  EXPECT_EQ(cost.rows_within(milliseconds(25)), 0);
  cost.observe(1, milliseconds(6));
  EXPECT_EQ(cost.rows_within(milliseconds(25)), 4) << "one size only: proportional";
  for (int i = 0; i < 10; ++i) {
    cost.observe(1, milliseconds(6));
    cost.observe(11, milliseconds(16));
  }
  EXPECT_NEAR(cost.rows_within(milliseconds(25)), 20, 1);
  EXPECT_EQ(cost.rows_within(milliseconds(1)), 0);
  // The machine gets slower: old steps are forgotten.
  for (int i = 0; i < 100; ++i) {
    cost.observe(1, milliseconds(7));
    cost.observe(11, milliseconds(27));
  }
  EXPECT_NEAR(cost.rows_within(milliseconds(25)), 10, 1);
  StepCost still;
  still.observe(8, Nanoseconds(0));
  EXPECT_GT(still.rows_within(milliseconds(25)), 1000);
}

}  // namespace
}  // namespace o3::engine
