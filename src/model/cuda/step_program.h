// SPDX-License-Identifier: Apache-2.0
// The launches of one forward pass, and the memory between them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "device/cuda/cuda_backend.h"
#include "kernels/cuda/gemm.h"
#include "kernels/cuda/sum_scales.h"
#include "model/batch.h"
#include "model/cuda/device_weights.h"
#include "model/cuda/step_staging.h"
#include "model/model.h"

namespace o3::model::cuda {

class StepProgram {
 public:
  // Use create().
  StepProgram(const ModelConfig& config, const DeviceWeights& weights, const RunnerLimits& limits,
              device::cuda::CudaBackend& backend, const KvView& kv, const StepStaging& staging);

  // All that it is given must outlive it.
  static Result<std::unique_ptr<StepProgram>> create(const ModelConfig& config,
                                                     const DeviceWeights& weights,
                                                     const RunnerLimits& limits,
                                                     device::cuda::CudaBackend& backend,
                                                     const KvView& kv, const StepStaging& staging);

  // Enqueues the pass for what is staged. Host memory is not touched, so it can be captured.
  Result<void> enqueue(const StepShape& shape);

  // Device memory of the results: F32 [logit rows, vocabulary], and the largest of each row.
  const float* logits() const noexcept { return reinterpret_cast<const float*>(logits_.data()); }
  const int32_t* best() const noexcept { return reinterpret_cast<const int32_t*>(best_.data()); }

 private:
  // Rows that a product reads; scales of E4M3.
  struct Input {
    const void* data = nullptr;
    const float* scales = nullptr;
  };
  // What a product left in sums_; no splits: nothing, it went into the residual.
  struct Sums {
    int32_t splits = 0;
    kernels::cuda::SumScales scales;
  };
  // Of the residual stream: what add_norm() is to add first.
  struct Pending {
    Sums sums;
    const float* post_norm = nullptr;
  };

  Result<void> allocate();
  int64_t sums_bytes(int32_t rows) const;

  void norm(const DeviceVector& weight, device::DType dtype, const Pending& pending, int32_t rows);
  Result<Sums> product(const DeviceMatrix& w, const Input& x, int32_t rows, bool into_residual);
  Result<void> gated(const DeviceLayer& layer, int32_t rows);
  Result<Pending> add_product(const DeviceMatrix& w, const Input& x, int32_t rows,
                              const DeviceVector& post_norm);
  Input attention_input(const DeviceMatrix& w, int32_t rows);
  Result<void> attend(size_t index, const StepShape& shape);
  Result<void> head(const StepShape& shape, const Pending& pending);
  Result<void> layers(const StepShape& shape);
  void finish(const StepShape& shape, int32_t head_splits);
  void keep_logit_rows(const StepShape& shape);

  const ModelConfig& config_;
  const DeviceWeights& weights_;
  RunnerLimits limits_;
  device::cuda::CudaBackend& backend_;
  const StepStaging& staging_;
  std::vector<LayerKv> layer_kv_;
  std::unique_ptr<kernels::cuda::Gemm> gemm_;
  int32_t most_rows_;
  int32_t most_logit_rows_;

  device::Buffer residual_;       // F32 [rows, hidden]
  device::Buffer x_;              // 16-bit, what products read
  device::Buffer gated_;          // 16-bit [rows, ffn]; what attention gave, as E4M3
  device::Buffer x_scales_;       // [rows], when x_ is E4M3
  device::Buffer gated_scales_;   // [rows], when gated_ is
  device::Buffer q_;              // in the cache's type
  device::Buffer sums_;           // what products write
  device::Buffer kept_residual_;  // the same two, of the rows with logits only
  device::Buffer kept_x_;
  device::Buffer partials_;
  device::Buffer logits_;
  device::Buffer best_;
  // Where the pass stands: all rows, or those with logits.
  float* residual_now_ = nullptr;
  std::byte* x_now_ = nullptr;
};

}  // namespace o3::model::cuda
