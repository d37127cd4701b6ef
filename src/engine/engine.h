// SPDX-License-Identifier: Apache-2.0
// One engine thread owns scheduler, block pool and sequences; state crosses threads by queue.
// docs/engine.md is the contract: invariants there have tests of the same name.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/result.h"
#include "cache/cache_spec.h"
#include "device/backend.h"
#include "engine/engine_client.h"
#include "engine/engine_metrics.h"
#include "kernels/exec.h"
#include "model/model.h"

namespace o3::engine {

struct EngineOptions {
  int64_t kv_bytes = 0;         // size of the KV pool; must hold at least one page
  int32_t page_tokens = 32;     // 16-256, power of two
  int32_t max_running = 64;     // sequences in one step
  int32_t max_waiting = 1024;   // queue bound; beyond it submit() refuses
  int32_t max_step_rows = 512;  // batch rows of one step (prefill chunk + decode rows)
  Nanoseconds step_time_target = std::chrono::milliseconds(25);  // sets the prefill budget when
                                                                 // decodes are running
  bool share_prefixes = true;  // tokens that the cache holds are not computed again
  kernels::Compute compute = kernels::Compute::kFast;
};

class Engine final : public EngineClient {
 public:
  // The backend, clock and metrics must outlive the engine. Starts the engine thread.
  static Result<std::unique_ptr<Engine>> create(const EngineOptions& options,
                                                device::Backend& backend,
                                                std::shared_ptr<const model::Model> model,
                                                const Clock& clock, EngineMetrics& metrics);
  ~Engine() override;  // cancels what is left, joins

  Result<void> submit(std::shared_ptr<const Request> request,
                      std::shared_ptr<DeltaSink> sink) override;
  void cancel(RequestId id) noexcept override;
  InstanceInfo instance(InstanceId id) const override;
  bool ready() const noexcept override;

  // Refuses new work from now on and waits until every accepted request has finished; at the
  // timeout the rest is cancelled (and still gets its Finish).
  void drain(Nanoseconds timeout);

 private:
  struct State;
  explicit Engine(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace o3::engine
