// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "kernels/elementwise.h"
#include "model/ffn.h"
#include "model/linear_layer.h"

namespace o3::model {
namespace {

using device::TensorView;

class GatedFfn final : public Ffn {
 public:
  GatedFfn(LinearLayer gate_up, LinearLayer down, Activation activation)
      : gate_up_(std::move(gate_up)), down_(std::move(down)), activation_(activation) {}

  void forward(TensorView x, TensorView y, bool accumulate, Arena scratch,
               kernels::ExecCtx& ctx) const override {
    const int64_t rows = x.rows();
    const TensorView gate_up = scratch.matrix(rows, gate_up_.out_features());
    const TensorView product = scratch.matrix(rows, gate_up_.out_features() / 2);
    gate_up_.forward(x, gate_up, {}, scratch, ctx);
    if (activation_ == Activation::kGelu) {
      kernels::geglu(gate_up, product, ctx);
    } else {
      kernels::swiglu(gate_up, product, ctx);
    }
    down_.forward(product, y, {.accumulate = accumulate, .adapters = {}}, scratch, ctx);
  }

  int64_t bytes() const noexcept override { return gate_up_.bytes() + down_.bytes(); }
  int64_t workspace_bytes(int64_t rows, kernels::Compute compute) const override {
    const int64_t width = gate_up_.out_features();
    return Arena::matrix_bytes(rows, width) + Arena::matrix_bytes(rows, width / 2) +
           std::max(gate_up_.workspace_bytes(rows, compute), down_.workspace_bytes(rows, compute));
  }

 private:
  LinearLayer gate_up_;
  LinearLayer down_;
  Activation activation_;
};

}  // namespace

Result<std::unique_ptr<Ffn>> make_gated_ffn(const GatedWeights& weights, Activation activation,
                                            device::Backend& backend) {
  const std::array<TensorView, 2> gate_up{weights.gate, weights.up};
  O3_ASSIGN(LinearLayer first, LinearLayer::pack(gate_up, backend));
  O3_ASSIGN(LinearLayer second, LinearLayer::pack({&weights.down, 1}, backend));
  return std::unique_ptr<Ffn>(
      std::make_unique<GatedFfn>(std::move(first), std::move(second), activation));
}

}  // namespace o3::model
