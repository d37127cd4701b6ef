// SPDX-License-Identifier: Apache-2.0
// y[n, out] = x[n, in] * W[out, in]^T (+ y when accumulating). W stays packed as in the file, or
// repacked once at load for the backend's ISA; never widened.
#pragma once

#include <memory>
#include <span>

#include "base/result.h"
#include "kernels/exec.h"

namespace o3::kernels {

// One or more weight matrices with equal `in`, stacked along `out` (fused QKV, fused gate/up), in
// the layout the chosen kernel wants. Immutable after packing; safe to share between threads.
class LinearWeights {
 public:
  virtual ~LinearWeights() = default;
  virtual int64_t in_features() const noexcept = 0;
  virtual int64_t out_features() const noexcept = 0;
  virtual int64_t bytes() const noexcept = 0;  // bytes read by one full pass over the matrix
  virtual const char* kernel_name() const noexcept = 0;  // row of the selection table, for reports
};

// Packs `parts` (each rank 2, [out_i, in], host memory, equal dtype and `in`) for the backend.
// kUnsupported names the dtype and shape when no kernel of the table fits. The views may be
// released afterwards.
Result<std::unique_ptr<LinearWeights>> pack_linear(std::span<const TensorView> parts,
                                                   device::Backend& backend);

// x, y: F32, [n, in] and [n, out]. Results for one row do not depend on n (batch-invariant):
// integer accumulation per block, or a fixed order of FP32 sums.
void linear(const LinearWeights& w, TensorView x, TensorView y, bool accumulate, ExecCtx& ctx);

// Bytes of ExecCtx::workspace that linear() needs for up to `rows` rows.
int64_t linear_workspace(const LinearWeights& w, int64_t rows, Compute compute);

// What pack_linear() would make of such matrices, worked out without their values.
struct LinearSize {
  int64_t in = 0;
  int64_t weight_bytes = 0;  // LinearWeights::bytes()
  bool quantizes = false;    // kFast rounds activations, in workspace

  int64_t workspace(int64_t rows, Compute compute) const;  // as linear_workspace()
};
Result<LinearSize> linear_size(DType dtype, int64_t in, int64_t out, device::Backend& backend);

}  // namespace o3::kernels
