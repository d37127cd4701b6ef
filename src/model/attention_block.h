// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "device/backend.h"
#include "kernels/attention.h"
#include "kernels/exec.h"
#include "kernels/rope.h"
#include "model/arena.h"
#include "model/linear_layer.h"
#include "model/rms_norm.h"

namespace o3::model {

struct AttentionShape {
  int32_t hidden = 0;
  int32_t kv_heads = 0;
  int32_t head_dim = 0;
  device::DType kv_dtype = device::DType::kF16;
  kernels::AttnDesc desc;  // query heads, scale, window, soft cap
  bool bias = false;       // Q, K and V have one
  bool qk_norm = false;    // every query and key head is normed before it is rotated
  double norm_eps = 0.0;
  double norm_offset = 0.0;
};

struct AttentionWeights {
  device::TensorView q;                    // [heads * head_dim, hidden]
  device::TensorView k;                    // [kv_heads * head_dim, hidden]
  device::TensorView v;                    // [kv_heads * head_dim, hidden]
  device::TensorView output;               // [hidden, heads * head_dim]
  std::array<device::TensorView, 3> bias;  // of Q, K, V: [out]; empty without
  device::TensorView q_norm;               // [head_dim]; empty without
  device::TensorView k_norm;
};

// The rows of a step as one layer sees them.
struct AttentionRows {
  std::span<const kernels::Position> positions;      // [n]
  std::span<const kernels::AttnSequence> sequences;  // the layer's KV group: n rows in all
  // The rows whose outputs are wanted, in the same form; a subset of `sequences` rows. The K and V
  // of all n rows are appended in any case.
  std::span<const kernels::AttnSequence> queries;
};

// Self-attention with rotary positions and grouped query heads (Ainslie et al. 2023). Immutable.
class AttentionBlock {
 public:
  static Result<AttentionBlock> load(const AttentionShape& shape, const AttentionWeights& weights,
                                     device::Backend& backend);

  // x[n, hidden] (normed) -> out[n, heads * head_dim]; rows outside `queries` are left unwritten.
  void attend(device::TensorView x, const AttentionRows& rows, const kernels::RopeTable& rope,
              const kernels::PagedKv& kv, device::TensorView out, Arena scratch,
              kernels::ExecCtx& ctx) const;

  // y[n, hidden] = attended[n, heads * head_dim] * output^T, or += when accumulating
  void project(device::TensorView attended, device::TensorView y, bool accumulate, Arena scratch,
               kernels::ExecCtx& ctx) const;

  int64_t width() const noexcept { return int64_t{shape_.desc.heads} * shape_.head_dim; }
  int64_t bytes() const noexcept;
  int64_t workspace_bytes(int64_t rows, kernels::Compute compute, device::Backend& backend) const;

 private:
  Result<void> load_vectors(const AttentionWeights& weights, device::Backend& backend);
  void project_inputs(device::TensorView x, device::TensorView qkv, Arena scratch,
                      kernels::ExecCtx& ctx) const;

  AttentionShape shape_;
  LinearLayer qkv_;
  LinearLayer output_;
  std::array<device::Buffer, 3> bias_;  // of Q, K and V
  RmsNorm q_norm_;
  RmsNorm k_norm_;
};

}  // namespace o3::model
