// SPDX-License-Identifier: Apache-2.0
// Row-wise glue between the matrix products. All tensors F32 unless said otherwise.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "kernels/exec.h"

namespace o3::kernels {

// out[n, d] = x[n, d] / sqrt(mean(x^2) + eps) * weight[d]; the sum of squares is taken in double
// or in FP32 pairwise. out may be x.
void rms_norm(TensorView x, TensorView weight, float eps, TensorView out, ExecCtx& ctx);

// out[n, f] = silu(gate_up[n, 0:f]) * gate_up[n, f:2f]  (SwiGLU, Shazeer 2020)
void swiglu(TensorView gate_up, TensorView out, ExecCtx& ctx);

// out[n, f] = gelu(gate_up[n, 0:f]) * gate_up[n, f:2f], with the tanh form of GELU (GeGLU, Shazeer
// 2020; Hendrycks and Gimpel 2016).
void geglu(TensorView gate_up, TensorView out, ExecCtx& ctx);

// RMS norm of each of the first `heads` heads of every row of x[n, >= heads * d], in place;
// weight[d] is shared by the heads (Henry et al. 2020).
void rms_norm_heads(TensorView x, int32_t heads, TensorView weight, float eps, ExecCtx& ctx);

// y[n, d] += x[n, d]
void add(TensorView x, TensorView y, ExecCtx& ctx);

// y[n, d] += bias[d]
void add_bias(TensorView bias, TensorView y, ExecCtx& ctx);

// x[n, d] *= factor
void scale(float factor, TensorView x, ExecCtx& ctx);

// x[n, d] = cap * tanh(x / cap); cap > 0. Off by less than 2e-7 * cap.
void softcap(float cap, TensorView x, ExecCtx& ctx);

// out[n, d] = table[ids[n], :] dequantised; table of any supported dtype, [vocab, d].
// ids must be in range (checked by the caller once, at admission).
void embed(TensorView table, std::span<const int32_t> ids, TensorView out, ExecCtx& ctx);

// Whether embed() and dequantize_row() know the dtype: loaders ask before they accept a file.
bool can_dequantize(DType dtype) noexcept;

// dst[0:elements] = the dequantised values of one packed row.
void dequantize_row(DType dtype, const std::byte* src, float* dst, int64_t elements) noexcept;

}  // namespace o3::kernels
