// SPDX-License-Identifier: Apache-2.0
#include "engine/executor.h"

#include <algorithm>
#include <utility>

namespace o3::engine {

ModelExecutor::ModelExecutor(const ExecutorLimits& limits, device::Backend& backend,
                             const model::Model& model, const cache::BlockPool& pool)
    : limits_(limits), backend_(backend), model_(model), pool_(pool) {}

Result<std::unique_ptr<ModelExecutor>> ModelExecutor::create(const ExecutorLimits& limits,
                                                             device::Backend& backend,
                                                             const model::Model& model,
                                                             const cache::BlockPool& pool) {
  const int64_t workspace_bytes =
      std::max<int64_t>(model.workspace_bytes(limits.max_step_rows, limits.max_logit_rows), 64);
  const int64_t logits_bytes = int64_t{limits.max_logit_rows} * model.config().vocabulary *
                               static_cast<int64_t>(sizeof(float));
  std::unique_ptr<ModelExecutor> made(new ModelExecutor(limits, backend, model, pool));
  O3_ASSIGN(made->workspace_,
            backend.allocate(static_cast<size_t>(workspace_bytes), device::MemTag::kWorkspace));
  O3_ASSIGN(made->logits_,
            backend.allocate(static_cast<size_t>(logits_bytes), device::MemTag::kWorkspace));
  return made;
}

void ModelExecutor::launch(const model::BatchView& batch) {
  O3_CHECK(!launched_, "a step is launched while another is in flight");
  O3_CHECK(std::ssize(batch.tokens) <= limits_.max_step_rows &&
               std::ssize(batch.logit_rows) <= limits_.max_logit_rows,
           "a step is larger than its workspace");
  launched_ = batch;
}

// CPU kernels use the calling thread as one of their workers, so the forward pass runs here.
Result<device::TensorView> ModelExecutor::collect() {
  O3_CHECK(launched_, "nothing was launched");
  const model::BatchView batch = *std::exchange(launched_, std::nullopt);
  const device::TensorView logits =
      device::matrix_view(logits_.data(), device::DType::kF32, std::ssize(batch.logit_rows),
                          model_.config().vocabulary);
  kernels::ExecCtx ctx{.backend = backend_,
                       .workspace = {workspace_.data(), workspace_.bytes()},
                       .compute = limits_.compute};
  const model::KvView kv{.pool = pool_.data(), .layout = &pool_.layout()};
  O3_TRY(model_.forward(batch, kv, logits, ctx));
  O3_TRY(backend_.synchronize());
  if (!backend_.healthy()) return unavailable("the backend reports itself unhealthy");
  return logits;
}

}  // namespace o3::engine
