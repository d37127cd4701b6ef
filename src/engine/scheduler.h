// SPDX-License-Identifier: Apache-2.0
// Continuous batching with chunked prefill over one block pool. docs/engine.md names the
// invariants. Engine thread only; knows no model, no clock and no thread, so that it can be
// simulated.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "cache/block_pool.h"
#include "engine/page_ledger.h"
#include "engine/sequence.h"
#include "engine/step_cost.h"
#include "engine/step_plan.h"

namespace o3::engine {

struct SchedulerLimits {
  int32_t max_running = 64;
  int32_t max_step_rows = 512;  // >= max_running, so that every running sequence can get a row
  Nanoseconds step_time_target = std::chrono::milliseconds(25);
  // What prefill gets beside decodes even when the target leaves less: it must not starve.
  int32_t min_prefill_rows = 8;
  // Tokens beyond the known ones for which a sequence is charged, where the pool allows: with more,
  // fewer run at once; with fewer, more are preempted.
  int32_t headroom_tokens = 64;
  // Prompt rows of one step whose logits may be wanted as well (prompt_logprobs).
  int32_t max_scored_rows = 32;
  bool share_prefixes = true;  // tokens that the cache holds are not computed again
};

class Scheduler {
 public:
  // The pool must outlive the scheduler and serve nobody else.
  Scheduler(const SchedulerLimits& limits, cache::BlockPool& pool);

  // Takes a sequence that the pool can hold (request_limits.h checks); its id must be new.
  Sequence& enqueue(std::unique_ptr<Sequence> sequence);

  // Marks a sequence as ending; the first outcome stays. Unknown ids are ignored.
  void retire(RequestId id, Outcome outcome, std::optional<Error> error = std::nullopt);
  void retire(Sequence& sequence, Outcome outcome, std::optional<Error> error = std::nullopt);
  void retire_all(Outcome outcome, const std::optional<Error>& error = std::nullopt);

  // The next step, without any side effect. No step may be in flight.
  void plan(Nanoseconds now, StepPlan& plan) const;

  // Carries the plan out: the only place that admits, preempts and leases pages. Retires the
  // expired; pages of retiring sequences return first.
  void commit(const StepPlan& plan);

  // The committed step came back: its rows are in the cache, its sequences are no longer in flight.
  void complete(const StepPlan& plan, Nanoseconds took);

  // Releases every sequence that is retiring and not in flight: its pages return to the pool now.
  void reap(std::vector<std::unique_ptr<Sequence>>& released);

  bool empty() const noexcept { return sequences_.empty(); }
  int32_t waiting() const noexcept { return waiting_count_; }
  int32_t running() const noexcept { return static_cast<int32_t>(running_.size()); }
  const PageLedger& pages() const noexcept { return pages_; }
  int64_t preemptions() const noexcept { return preemptions_; }  // since the start
  const StepCost& cost() const noexcept { return cost_; }

 private:
  static constexpr size_t kClasses = 4;

  // What a plan may still promise: pages that nobody is charged for or pins.
  struct Room {
    int64_t pages = 0;
    cache::PinForecast pins;
  };

  std::vector<Sequence*> live_running(Nanoseconds now, StepPlan& plan) const;
  Room room_beside(const std::vector<Sequence*>& order) const;
  void plan_decodes(std::vector<Sequence*>& order, Room& room, StepPlan& plan) const;
  int32_t make_room(std::vector<Sequence*>& order, const Sequence& sequence, Room& room,
                    StepPlan& plan) const;
  void plan_prompts(const std::vector<Sequence*>& order, Nanoseconds now, Room& room,
                    StepPlan& plan) const;
  int32_t prefill_budget(int32_t decode_rows) const;
  int32_t wanted_room(const Sequence& sequence) const;
  void admit(Sequence& sequence, const cache::PrefixMatch& match);
  void preempt(Sequence& sequence);
  void release(Sequence& sequence);

  SchedulerLimits limits_;
  PageLedger pages_;
  std::unordered_map<RequestId, std::unique_ptr<Sequence>> sequences_;
  std::array<std::deque<Sequence*>, kClasses> waiting_;  // by class, in order of arrival
  std::vector<Sequence*> running_;                       // in order of admission
  std::vector<Sequence*> retiring_;
  int32_t waiting_count_ = 0;
  int64_t preemptions_ = 0;
  uint64_t arrivals_ = 0;
  StepCost cost_;
};

}  // namespace o3::engine
