// SPDX-License-Identifier: Apache-2.0
#include "model/attention_block.h"

#include <algorithm>
#include <array>
#include <utility>

namespace o3::model {

using device::TensorView;

Result<AttentionBlock> AttentionBlock::load(const AttentionShape& shape,
                                            const AttentionWeights& weights,
                                            kernels::Compute compute, device::Backend& backend) {
  AttentionBlock block;
  block.shape_ = shape;
  const std::array<TensorView, 3> qkv{weights.q, weights.k, weights.v};
  O3_ASSIGN(block.qkv_, LinearLayer::pack(qkv, compute, backend));
  O3_ASSIGN(block.output_, LinearLayer::pack({&weights.output, 1}, compute, backend));
  return block;
}

void AttentionBlock::attend(TensorView x, const AttentionRows& rows, const kernels::RopeTable& rope,
                            const kernels::PagedKv& kv, TensorView out, Arena scratch,
                            kernels::ExecCtx& ctx) const {
  const int64_t q_width = width();
  const int64_t kv_width = int64_t{shape_.kv_heads} * shape_.head_dim;
  const TensorView qkv = scratch.matrix(x.rows(), q_width + 2 * kv_width);
  qkv_.forward(x, qkv, {}, scratch, ctx);

  // Q and K lie side by side, so one call rotates the heads of both.
  kernels::ExecCtx inner{ctx.backend, scratch.rest(), ctx.compute};
  kernels::rope(rope, rows.positions, qkv, shape_.desc.heads + shape_.kv_heads, shape_.head_dim,
                inner);
  kernels::kv_append(kv, rows.sequences, columns(qkv, q_width, kv_width),
                     columns(qkv, q_width + kv_width, kv_width), inner);
  if (!rows.queries.empty()) {
    kernels::paged_attention(shape_.desc, kv, rows.queries, columns(qkv, 0, q_width), out, inner);
  }
}

void AttentionBlock::project(TensorView attended, TensorView residual, Arena scratch,
                             kernels::ExecCtx& ctx) const {
  output_.forward(attended, residual, {.accumulate = true, .adapters = {}}, scratch, ctx);
}

int64_t AttentionBlock::workspace_bytes(int64_t rows, kernels::Compute compute,
                                        device::Backend& backend) const {
  kernels::PagedKv kv;
  kv.dtype = shape_.kv_dtype;
  kv.kv_heads = shape_.kv_heads;
  kv.head_dim = shape_.head_dim;
  const int64_t attend = Arena::matrix_bytes(rows, qkv_.out_features()) +
                         std::max(qkv_.workspace_bytes(rows, compute),
                                  kernels::attention_workspace(shape_.desc, kv, rows, backend));
  return std::max(attend, output_.workspace_bytes(rows, compute));
}

}  // namespace o3::model
