// SPDX-License-Identifier: Apache-2.0
#include "model/rms_norm.h"

#include "kernels/elementwise.h"

namespace o3::model {

Result<RmsNorm> RmsNorm::load(device::TensorView weight, double eps, device::Backend& backend) {
  RmsNorm norm;
  const auto bytes = static_cast<size_t>(weight.cols()) * sizeof(float);
  O3_ASSIGN(norm.weight_, backend.allocate(bytes, device::MemTag::kWeights));
  O3_TRY(backend.copy_from_host(norm.weight_, 0, weight.data, bytes));
  norm.eps_ = static_cast<float>(eps);
  return norm;
}

void RmsNorm::forward(device::TensorView x, device::TensorView out, kernels::ExecCtx& ctx) const {
  const auto weight = device::vector_view(weight_.data(), device::DType::kF32, x.cols());
  kernels::rms_norm(x, weight, eps_, out, ctx);
}

}  // namespace o3::model
