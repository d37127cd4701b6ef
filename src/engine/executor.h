// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "cache/block_pool.h"
#include "device/backend.h"
#include "kernels/exec.h"
#include "model/model.h"

namespace o3::engine {

// Runs steps. Two halves, so that work of the engine thread (commands, masks) overlaps the forward
// pass where the device is asynchronous. Engine thread only; one step at a time.
class Executor {
 public:
  virtual ~Executor() = default;

  // Starts a step. What the view points at must stay as it is until collect() returns.
  virtual void launch(const model::BatchView& batch) = 0;

  // Waits for the launched step; the output is the caller's to overwrite until the next launch. An
  // error, of either half, means that the backend cannot be relied on.
  virtual Result<model::StepOutput> collect() = 0;
};

struct ExecutorLimits {
  int32_t max_step_rows = 0;
  int32_t max_logit_rows = 0;
  int32_t max_sequences = 0;
  int32_t max_context = 0;  // tokens of one sequence
  kernels::Compute compute = kernels::Compute::kFast;
};

// One model on one backend, with memory for the largest step that is allocated once.
class ModelExecutor final : public Executor {
 public:
  // The backend, the model and the pool must outlive it. kExhausted when the memory is not there.
  static Result<std::unique_ptr<ModelExecutor>> create(const ExecutorLimits& limits,
                                                       device::Backend& backend,
                                                       const model::Model& model,
                                                       const cache::BlockPool& pool);

  void launch(const model::BatchView& batch) override;
  Result<model::StepOutput> collect() override;

 private:
  ModelExecutor(const ExecutorLimits& limits, device::Backend& backend,
                std::unique_ptr<model::StepRunner> runner)
      : limits_(limits), backend_(backend), runner_(std::move(runner)) {}

  ExecutorLimits limits_;
  device::Backend& backend_;
  std::unique_ptr<model::StepRunner> runner_;
  Result<void> launched_;
};

}  // namespace o3::engine
