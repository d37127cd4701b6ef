// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "model/model.h"

namespace o3::model {
namespace {

class HostRunner final : public StepRunner {
 public:
  HostRunner(const HostModel& model, const RunnerLimits& limits, device::Backend& backend,
             const KvView& kv)
      : model_(model), limits_(limits), backend_(backend), kv_(kv) {}

  Result<void> allocate() {
    const int64_t workspace =
        std::max<int64_t>(model_.workspace_bytes(limits_.rows, limits_.logit_rows), 64);
    const int64_t logits = int64_t{limits_.logit_rows} * model_.config().vocabulary *
                           static_cast<int64_t>(sizeof(float));
    O3_ASSIGN(workspace_,
              backend_.allocate(static_cast<size_t>(workspace), device::MemTag::kWorkspace));
    O3_ASSIGN(logits_, backend_.allocate(static_cast<size_t>(logits), device::MemTag::kWorkspace));
    return {};
  }

  Result<void> launch(const BatchView& batch) override {
    O3_CHECK(!launched_, "a step is launched while another is in flight");
    launched_ = batch;
    return {};
  }

  // CPU kernels use the calling thread as one of their workers, so the forward pass runs here.
  Result<StepOutput> collect() override {
    O3_CHECK(launched_, "nothing was launched");
    const BatchView batch = *std::exchange(launched_, std::nullopt);
    const kernels::TensorView logits =
        device::matrix_view(logits_.data(), device::DType::kF32, std::ssize(batch.logit_rows),
                            model_.config().vocabulary);
    kernels::ExecCtx ctx{.backend = backend_,
                         .workspace = {workspace_.data(), workspace_.bytes()},
                         .compute = limits_.compute};
    O3_TRY(model_.forward(batch, kv_, logits, ctx));
    O3_TRY(backend_.synchronize());
    return StepOutput{.logits = logits, .best = {}};
  }

 private:
  const HostModel& model_;
  RunnerLimits limits_;
  device::Backend& backend_;
  KvView kv_;
  device::Buffer workspace_;
  device::Buffer logits_;
  std::optional<BatchView> launched_;
};

}  // namespace

Result<std::unique_ptr<StepRunner>> HostModel::make_runner(const RunnerLimits& limits,
                                                           device::Backend& backend,
                                                           const KvView& kv) const {
  auto runner = std::make_unique<HostRunner>(*this, limits, backend, kv);
  O3_TRY(runner->allocate());
  return std::unique_ptr<StepRunner>(std::move(runner));
}

}  // namespace o3::model
