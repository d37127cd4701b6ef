// SPDX-License-Identifier: Apache-2.0
// One model with its pool, scheduler and executor: everything of the engine but threads, so that
// tests can step it under a clock of theirs. Engine thread only, but for limits().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "cache/block_pool.h"
#include "engine/executor.h"
#include "engine/inbox.h"
#include "engine/instance_options.h"
#include "engine/outbox.h"
#include "engine/request_limits.h"
#include "engine/sampler.h"
#include "engine/scheduler.h"
#include "engine/step_batch.h"
#include "engine/token_logprobs.h"

namespace o3::engine {

struct InstanceStats {
  int32_t running = 0;
  int32_t waiting = 0;
  int64_t blocks_used = 0;    // by running sequences
  int64_t blocks_cached = 0;  // by known prefixes that nobody uses: given up when needed
  int64_t blocks_total = 0;
  cache::SlotSeconds kv_time;  // of its pool since the start
  int64_t prompt_tokens = 0;   // computed since the start
  int64_t cached_tokens = 0;   // found in the cache instead, since the start
  int64_t output_tokens = 0;   // sampled since the start
  int64_t preemptions = 0;     // since the start

  InstanceStats& operator+=(const InstanceStats& other) noexcept;
  InstanceStats lasting() const noexcept;  // without what ends with the instance
};

class ModelInstance {
 public:
  // The backend and the clock must outlive it. kInvalid names the option that cannot work.
  static Result<std::unique_ptr<ModelInstance>> create(const InstanceOptions& options,
                                                       device::Backend& backend,
                                                       std::shared_ptr<const model::Model> model,
                                                       const Clock& clock);

  const RequestLimits& limits() const noexcept { return limits_; }

  // The request was checked against limits().
  void submit(Submission submission);
  void cancel(RequestId id);
  void cancel_all();
  bool idle() const noexcept { return scheduler_.empty(); }

  // One step. `poll` is called when requests may be taken in and cancelled: between commit and
  // forward pass, and between forward pass and the use of its results. Adds what the sinks get, and
  // the ids of the requests whose Finish is among it; their pages are already back.
  void step(const std::function<void()>& poll, Outbox& outbox, std::vector<RequestId>& finished);

  InstanceStats stats() const;
  // Set once the backend has failed; from then on every request ends with it.
  const std::optional<Error>& failure() const noexcept { return failure_; }
  const Scheduler& scheduler() const noexcept { return scheduler_; }
  const cache::BlockPool& pool() const noexcept { return *parts_.pool; }

 private:
  // In the order of construction: the executor uses the pool and the model.
  struct Parts {
    std::shared_ptr<const model::Model> model;
    std::unique_ptr<cache::BlockPool> pool;
    std::unique_ptr<Executor> executor;
  };
  ModelInstance(const InstanceOptions& options, Parts parts, const Clock& clock);

  void start_constraints();
  void run(const std::function<void()>& poll);
  void count_prompt_tokens();
  void fill_masks();
  void sample(const model::StepOutput& output);
  void score_prompt(Sequence& sequence, int32_t rows, const device::TensorView& logits,
                    int64_t first_row);
  void sample_row(Sequence& sequence, std::span<float> logits);
  Result<Token> next_token(Sequence& sequence, std::span<float> logits);
  void accept(Sequence& sequence, const Result<Token>& token);
  void take_token(Sequence& sequence, Token token);
  void fail(const Error& why);
  void hand_over(Outbox& outbox, std::vector<RequestId>& finished);

  Parts parts_;
  const Clock& clock_;
  RequestLimits limits_;
  Scheduler scheduler_;
  Sampler sampler_;
  LogprobReader logprobs_;
  StepPlan plan_;
  StepBatch batch_;
  std::vector<std::unique_ptr<Sequence>> released_;
  cache::SlotUsageAverage usage_;
  std::optional<Error> failure_;
  int64_t prompt_tokens_ = 0;
  int64_t cached_tokens_ = 0;
  int64_t output_tokens_ = 0;
};

}  // namespace o3::engine
