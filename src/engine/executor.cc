// SPDX-License-Identifier: Apache-2.0
#include "engine/executor.h"

#include <utility>

#include "base/check.h"

namespace o3::engine {

Result<std::unique_ptr<ModelExecutor>> ModelExecutor::create(const ExecutorLimits& limits,
                                                             device::Backend& backend,
                                                             const model::Model& model,
                                                             const cache::BlockPool& pool) {
  const model::RunnerLimits runner_limits{.rows = limits.max_step_rows,
                                          .logit_rows = limits.max_logit_rows,
                                          .sequences = limits.max_sequences,
                                          .context = limits.max_context,
                                          .compute = limits.compute};
  const model::KvView kv{
      .pool = pool.data(), .layout = &pool.layout(), .pages = pool.total_blocks()};
  O3_ASSIGN(auto runner, model.make_runner(runner_limits, backend, kv));
  return std::unique_ptr<ModelExecutor>(new ModelExecutor(limits, backend, std::move(runner)));
}

void ModelExecutor::launch(const model::BatchView& batch) {
  O3_CHECK(std::ssize(batch.tokens) <= limits_.max_step_rows &&
               std::ssize(batch.logit_rows) <= limits_.max_logit_rows,
           "a step is larger than its workspace");
  launched_ = runner_->launch(batch);
}

Result<model::StepOutput> ModelExecutor::collect() {
  O3_TRY(std::move(launched_));
  O3_ASSIGN(const model::StepOutput output, runner_->collect());
  if (!backend_.healthy()) return unavailable("the backend reports itself unhealthy");
  return output;
}

}  // namespace o3::engine
