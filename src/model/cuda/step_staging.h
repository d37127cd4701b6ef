// SPDX-License-Identifier: Apache-2.0
// A step's numbers on their way to the device: written into pinned memory, copied once per step.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "device/cuda/cuda_backend.h"
#include "kernels/cuda/step_writer.h"
#include "model/model.h"

namespace o3::model::cuda {

// What the launches of a step depend on. Steps of equal shape can share a graph.
struct StepShape {
  int32_t rows = 0;        // padding included
  int32_t logit_rows = 0;  // padding included
  bool all_rows = false;   // every row has logits, in order
  bool decode_only = false;
  std::vector<int32_t> decode_blocks;   // [group], rounded up in steps that are decode only
  std::vector<int32_t> prefill_blocks;  // [group]
  auto operator<=>(const StepShape&) const = default;
};

class StepStaging {
 public:
  static Result<StepStaging> create(const RunnerLimits& limits, const KvView& kv,
                                    device::cuda::CudaBackend& backend);

  // Writes the batch and enqueues its copy. The step before must be done.
  Result<StepShape> stage(const BatchView& batch);

  // Device pointers; fixed for the life of the staging.
  const int32_t* tokens() const noexcept { return ints(tokens_); }
  const int32_t* positions() const noexcept { return ints(positions_); }
  const int32_t* logit_rows() const noexcept { return ints(logit_rows_); }
  kernels::cuda::KvStep step(size_t group, const StepShape& shape) const;

  int32_t most_rows() const noexcept { return most_rows_; }      // with padding
  int32_t most_splits() const noexcept { return most_splits_; }  // of one group

 private:
  struct Group {
    kernels::cuda::GroupShape shape;
    kernels::cuda::StepWriter writer;
    int64_t offset = 0;
  };
  StepStaging(device::cuda::CudaBackend& backend) : backend_(&backend) {}
  const int32_t* ints(int64_t offset) const noexcept {
    return reinterpret_cast<const int32_t*>(device_.data() + offset);
  }

  device::cuda::CudaBackend* backend_;
  int32_t most_rows_ = 0;
  int32_t most_splits_ = 0;
  int64_t tokens_ = 0;  // byte offsets
  int64_t positions_ = 0;
  int64_t logit_rows_ = 0;
  std::vector<Group> groups_;
  device::Buffer host_;
  device::Buffer device_;
};

}  // namespace o3::model::cuda
