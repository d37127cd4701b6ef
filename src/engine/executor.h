// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

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

  // Waits for the launched step. Logits in host memory, F32 [logit_rows, vocabulary], the caller's
  // to overwrite until the next launch. An error means that the backend cannot be relied on.
  virtual Result<device::TensorView> collect() = 0;
};

struct ExecutorLimits {
  int32_t max_step_rows = 0;
  int32_t max_logit_rows = 0;
  kernels::Compute compute = kernels::Compute::kFast;
};

// One model on one backend. Owns the workspace and the logits, both allocated once (MemTag
// kWorkspace) for the largest step.
class ModelExecutor final : public Executor {
 public:
  // The backend, the model and the pool must outlive it. kExhausted when the memory is not there.
  static Result<std::unique_ptr<ModelExecutor>> create(const ExecutorLimits& limits,
                                                       device::Backend& backend,
                                                       const model::Model& model,
                                                       const cache::BlockPool& pool);

  void launch(const model::BatchView& batch) override;
  Result<device::TensorView> collect() override;

 private:
  ModelExecutor(const ExecutorLimits& limits, device::Backend& backend, const model::Model& model,
                const cache::BlockPool& pool);

  ExecutorLimits limits_;
  device::Backend& backend_;
  const model::Model& model_;
  const cache::BlockPool& pool_;
  device::Buffer workspace_;
  device::Buffer logits_;
  std::optional<model::BatchView> launched_;
};

}  // namespace o3::engine
