// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "device/backend.h"
#include "kernels/exec.h"
#include "kernels/linear.h"
#include "model/arena.h"

namespace o3::model {

struct LinearArgs {
  bool accumulate = false;  // add to y instead of writing it
  // One entry per row: the low-rank adapter to add, or -1. Empty: none. Ids are those of adapters
  // loaded with the model, so until adapters can be loaded only empty is valid.
  std::span<const int32_t> adapters;
};

// y[n, sum of out_i] = x[n, in] * [W_0; W_1; ...]^T. Parts of one type share a single pass over x
// (fused Q/K/V, fused gate/up); parts of different types run one after the other. Immutable.
class LinearLayer {
 public:
  // parts: [out_i, in], file layout; they may be released afterwards.
  static Result<LinearLayer> pack(std::span<const device::TensorView> parts,
                                  device::Backend& backend);

  // x, y: F32; y may be a slice of wider rows.
  void forward(device::TensorView x, device::TensorView y, const LinearArgs& args, Arena scratch,
               kernels::ExecCtx& ctx) const;

  int64_t out_features() const noexcept;
  int64_t bytes() const noexcept;  // read by one full pass
  int64_t workspace_bytes(int64_t rows, kernels::Compute compute) const;

 private:
  std::vector<std::unique_ptr<kernels::LinearWeights>> pieces_;  // in the order of their columns
};

}  // namespace o3::model
