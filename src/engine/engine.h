// SPDX-License-Identifier: Apache-2.0
// One engine thread owns the model instances: schedulers, block pools, sequences; state crosses
// threads by queue. docs/engine.md is the contract: invariants there have tests of the same name.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/result.h"
#include "device/backend.h"
#include "engine/engine_client.h"
#include "engine/engine_metrics.h"
#include "engine/instance_options.h"
#include "model/model.h"

namespace o3::engine {

struct EngineOptions {
  int32_t max_waiting = 1024;  // bound of the queue of all instances; beyond it submit() refuses
};

class Engine final : public EngineClient {
 public:
  // The clock and the metrics must outlive the engine. Starts the engine thread.
  static Result<std::unique_ptr<Engine>> create(const EngineOptions& options, const Clock& clock,
                                                EngineMetrics& metrics);
  ~Engine() override;  // cancels what is left, joins

  // Any thread, while others are served. The backend must outlive the instance. Memory is taken on
  // the calling thread; requests are accepted once it returns. kInvalid names the option that
  // cannot work, kExhausted: the memory is not there. An id is never given twice; the first is 0.
  Result<InstanceId> load(const InstanceOptions& options, device::Backend& backend,
                          std::shared_ptr<const model::Model> model);
  // Refuses new requests of the instance, waits until those it has are finished, cancels the rest
  // at the timeout, and frees its memory. kNotFound when there is none (any more).
  Result<void> unload(InstanceId id, Nanoseconds timeout);

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
