// SPDX-License-Identifier: Apache-2.0
#include "model/linear_layer.h"

#include <algorithm>
#include <utility>

namespace o3::model {

using device::TensorView;

Result<LinearLayer> LinearLayer::pack(std::span<const TensorView> parts, device::Backend& backend) {
  LinearLayer layer;
  while (!parts.empty()) {
    size_t count = 1;
    while (count < parts.size() && parts[count].dtype == parts[0].dtype) ++count;
    O3_ASSIGN(auto packed, kernels::pack_linear(parts.first(count), backend));
    layer.pieces_.push_back(std::move(packed));
    parts = parts.subspan(count);
  }
  return layer;
}

void LinearLayer::forward(TensorView x, TensorView y, const LinearArgs& args, Arena scratch,
                          kernels::ExecCtx& ctx) const {
  O3_CHECK(args.adapters.empty(), "adapter ids although no adapter is loaded");
  kernels::ExecCtx inner{ctx.backend, scratch.rest(), ctx.compute};
  int64_t column = 0;
  for (const auto& piece : pieces_) {
    kernels::linear(*piece, x, columns(y, column, piece->out_features()), args.accumulate, inner);
    column += piece->out_features();
  }
}

int64_t LinearLayer::out_features() const noexcept {
  int64_t features = 0;
  for (const auto& piece : pieces_) features += piece->out_features();
  return features;
}

int64_t LinearLayer::bytes() const noexcept {
  int64_t bytes = 0;
  for (const auto& piece : pieces_) bytes += piece->bytes();
  return bytes;
}

int64_t LinearLayer::workspace_bytes(int64_t rows, kernels::Compute compute) const {
  int64_t most = 0;
  for (const auto& piece : pieces_) {
    most = std::max(most, kernels::linear_workspace(*piece, rows, compute));
  }
  return most;
}

}  // namespace o3::model
