// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "device/backend.h"
#include "kernels/exec.h"
#include "model/arena.h"
#include "model/model_config.h"

namespace o3::model {

// The feed-forward half of a transformer layer: dense here; a mixture of experts is another
// implementation. Immutable; everything a call needs is passed in.
class Ffn {
 public:
  virtual ~Ffn() = default;

  // y[n, hidden] = ffn(x[n, hidden]), or += when accumulating. y is not x. Any subset of a batch's
  // rows may be given; a row's result does not depend on the others.
  virtual void forward(device::TensorView x, device::TensorView y, bool accumulate, Arena scratch,
                       kernels::ExecCtx& ctx) const = 0;

  virtual int64_t bytes() const noexcept = 0;  // of weights read by a step of one row
  virtual int64_t workspace_bytes(int64_t rows, kernels::Compute compute) const = 0;
};

struct GatedWeights {
  device::TensorView gate;  // [ffn, hidden]
  device::TensorView up;    // [ffn, hidden]
  device::TensorView down;  // [hidden, ffn]
};

// down(activation(gate(x)) * up(x)) (SwiGLU, GeGLU: Shazeer 2020).
Result<std::unique_ptr<Ffn>> make_gated_ffn(const GatedWeights& weights, Activation activation,
                                            device::Backend& backend);

}  // namespace o3::model
