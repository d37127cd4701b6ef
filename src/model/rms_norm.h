// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "device/backend.h"
#include "kernels/exec.h"

namespace o3::model {

// Root mean square norm (Zhang and Sennrich 2019) with its weight, which is copied to the backend.
class RmsNorm {
 public:
  // weight: [hidden], F32, F16 or BF16, host memory; `offset` is added to each element.
  static Result<RmsNorm> load(device::TensorView weight, double eps, double offset,
                              device::Backend& backend);

  // out[n, hidden] = norm(x[n, hidden]); out may be x.
  void forward(device::TensorView x, device::TensorView out, kernels::ExecCtx& ctx) const;
  // Each of the first `heads` heads of every row by itself, in place; the weight is [head_dim].
  void forward_heads(device::TensorView x, int32_t heads, kernels::ExecCtx& ctx) const;

  int64_t bytes() const noexcept { return static_cast<int64_t>(weight_.bytes()); }

 private:
  device::Buffer weight_;
  float eps_ = 0.0F;
};

}  // namespace o3::model
