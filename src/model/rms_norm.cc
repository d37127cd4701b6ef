// SPDX-License-Identifier: Apache-2.0
#include "model/rms_norm.h"

#include "kernels/elementwise.h"
#include "model/weights.h"

namespace o3::model {

Result<RmsNorm> RmsNorm::load(device::TensorView weight, double eps, double offset,
                              device::Backend& backend) {
  RmsNorm norm;
  O3_ASSIGN(norm.weight_, load_vector(weight, offset, backend));
  norm.eps_ = static_cast<float>(eps);
  return norm;
}

void RmsNorm::forward(device::TensorView x, device::TensorView out, kernels::ExecCtx& ctx) const {
  const auto weight = device::vector_view(weight_.data(), device::DType::kF32, x.cols());
  kernels::rms_norm(x, weight, eps_, out, ctx);
}

void RmsNorm::forward_heads(device::TensorView x, int32_t heads, kernels::ExecCtx& ctx) const {
  const auto head_dim = bytes() / int64_t{sizeof(float)};
  const auto weight = device::vector_view(weight_.data(), device::DType::kF32, head_dim);
  kernels::rms_norm_heads(x, heads, weight, eps_, ctx);
}

}  // namespace o3::model
