// SPDX-License-Identifier: Apache-2.0
#include "model/cuda/cuda_runner.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/check.h"
#include "device/cuda/graph.h"
#include "model/batch.h"
#include "model/cuda/step_program.h"
#include "model/cuda/step_staging.h"

namespace o3::model::cuda {
namespace {

// Graphs of an 8B model take a few MB each; when there are more shapes, all are made anew.
constexpr size_t kMaxGraphs = 128;

class CudaRunner final : public StepRunner {
 public:
  static Result<std::unique_ptr<StepRunner>> create(const ModelConfig& config,
                                                    const DeviceWeights& weights,
                                                    const RunnerLimits& limits,
                                                    device::cuda::CudaBackend& backend,
                                                    const KvView& kv);

  // Use create().
  CudaRunner(const ModelConfig& config, device::cuda::CudaBackend& backend, StepStaging staging,
             device::cuda::Event done)
      : vocabulary_(config.vocabulary),
        backend_(backend),
        staging_(std::move(staging)),
        done_(std::move(done)) {}

  Result<void> launch(const BatchView& batch) override;
  Result<StepOutput> collect() override;

 private:
  Result<void> run(const StepShape& shape);
  Result<void> fetch(const BatchView& batch);

  // A shape's graph; empty until the shape comes again.
  using Graphs = std::map<StepShape, std::optional<device::cuda::Graph>>;

  int32_t vocabulary_;
  device::cuda::CudaBackend& backend_;
  StepStaging staging_;
  device::cuda::Event done_;
  std::unique_ptr<StepProgram> program_;
  Graphs graphs_;
  device::Buffer logits_;       // pinned
  device::Buffer best_;         // pinned
  int64_t launched_rows_ = -1;  // logit rows of the step in flight
};

Result<std::unique_ptr<StepRunner>> CudaRunner::create(const ModelConfig& config,
                                                       const DeviceWeights& weights,
                                                       const RunnerLimits& limits,
                                                       device::cuda::CudaBackend& backend,
                                                       const KvView& kv) {
  O3_TRY(backend.use_on_this_thread());
  O3_ASSIGN(StepStaging staging, StepStaging::create(limits, kv, backend));
  O3_ASSIGN(device::cuda::Event done, device::cuda::Event::create(backend));
  auto runner = std::make_unique<CudaRunner>(config, backend, std::move(staging), std::move(done));
  O3_ASSIGN(runner->program_,
            StepProgram::create(config, weights, limits, backend, kv, runner->staging_));
  const auto rows = static_cast<size_t>(std::max(limits.logit_rows, 1));
  O3_ASSIGN(runner->logits_,
            backend.allocate_pinned(rows * static_cast<size_t>(config.vocabulary) * sizeof(float)));
  O3_ASSIGN(runner->best_, backend.allocate_pinned(rows * sizeof(Token)));
  O3_TRY(backend.synchronize());
  return std::unique_ptr<StepRunner>(std::move(runner));
}

// The first step of a shape runs as it is, which also lets the libraries load and choose; the
// second is captured.
Result<void> CudaRunner::run(const StepShape& shape) {
  if (!shape.decode_only || !shape.all_rows) {
    O3_TRY(program_->enqueue(shape));
    return backend_.check_launches();
  }
  if (graphs_.size() > kMaxGraphs) graphs_.clear();
  const auto [at, first] = graphs_.try_emplace(shape);
  if (first) {
    O3_TRY(program_->enqueue(shape));
    return backend_.check_launches();
  }
  if (!at->second) {
    O3_ASSIGN(at->second, device::cuda::Graph::capture(backend_, [&]() -> Result<void> {
                O3_TRY(program_->enqueue(shape));
                return backend_.check_launches();
              }));
  }
  return at->second->launch();
}

Result<void> CudaRunner::fetch(const BatchView& batch) {
  const size_t rows = batch.logit_rows.size();
  O3_TRY(backend_.enqueue_copy(best_.data(), program_->best(), rows * sizeof(Token)));
  const size_t row_bytes = static_cast<size_t>(vocabulary_) * sizeof(float);
  for (size_t row = 0; row < rows; ++row) {
    if (!batch.best_is_enough.empty() && batch.best_is_enough[row] != 0) continue;
    O3_TRY(backend_.enqueue_copy(logits_.data() + row * row_bytes,
                                 program_->logits() + row * static_cast<size_t>(vocabulary_),
                                 row_bytes));
  }
  return {};
}

Result<void> CudaRunner::launch(const BatchView& batch) {
  O3_CHECK(launched_rows_ < 0, "a step is launched while another is in flight");
  O3_TRY(backend_.use_on_this_thread());
  O3_ASSIGN(const StepShape shape, staging_.stage(batch));
  O3_TRY(run(shape));
  O3_TRY(fetch(batch));
  O3_TRY(done_.record());
  launched_rows_ = std::ssize(batch.logit_rows);
  return {};
}

Result<StepOutput> CudaRunner::collect() {
  O3_CHECK(launched_rows_ >= 0, "nothing was launched");
  const int64_t rows = std::exchange(launched_rows_, -1);
  O3_TRY(done_.wait());
  return StepOutput{
      .logits = device::matrix_view(logits_.data(), device::DType::kF32, rows, vocabulary_),
      .best = {reinterpret_cast<const Token*>(best_.data()), static_cast<size_t>(rows)}};
}

}  // namespace

Result<std::unique_ptr<StepRunner>> make_cuda_runner(const ModelConfig& config,
                                                     const DeviceWeights& weights,
                                                     const RunnerLimits& limits,
                                                     device::cuda::CudaBackend& backend,
                                                     const KvView& kv) {
  return CudaRunner::create(config, weights, limits, backend, kv);
}

}  // namespace o3::model::cuda
