// SPDX-License-Identifier: Apache-2.0
#include "model/attention_block.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/elementwise.h"
#include "model/weights.h"

namespace o3::model {

using device::TensorView;

Result<AttentionBlock> AttentionBlock::load(const AttentionShape& shape,
                                            const AttentionWeights& weights,
                                            device::Backend& backend) {
  AttentionBlock block;
  block.shape_ = shape;
  const std::array<TensorView, 3> qkv{weights.q, weights.k, weights.v};
  O3_ASSIGN(block.qkv_, LinearLayer::pack(qkv, backend));
  O3_ASSIGN(block.output_, LinearLayer::pack({&weights.output, 1}, backend));
  O3_TRY(block.load_vectors(weights, backend));
  return block;
}

Result<void> AttentionBlock::load_vectors(const AttentionWeights& weights,
                                          device::Backend& backend) {
  if (shape_.bias) {
    for (size_t part = 0; part < bias_.size(); ++part) {
      O3_ASSIGN(bias_.at(part), load_vector(weights.bias.at(part), 0.0, backend));
    }
  }
  if (shape_.qk_norm) {
    const auto norm = [&](TensorView weight) {
      return RmsNorm::load(weight, shape_.norm_eps, shape_.norm_offset, backend);
    };
    O3_ASSIGN(q_norm_, norm(weights.q_norm));
    O3_ASSIGN(k_norm_, norm(weights.k_norm));
  }
  return {};
}

void AttentionBlock::project_inputs(TensorView x, TensorView qkv, Arena scratch,
                                    kernels::ExecCtx& ctx) const {
  qkv_.forward(x, qkv, {}, scratch, ctx);
  if (shape_.bias) {
    int64_t column = 0;
    for (const device::Buffer& bias : bias_) {
      const auto count = static_cast<int64_t>(bias.bytes() / sizeof(float));
      kernels::add_bias(device::vector_view(bias.data(), device::DType::kF32, count),
                        columns(qkv, column, count), ctx);
      column += count;
    }
  }
  if (shape_.qk_norm) {
    q_norm_.forward_heads(columns(qkv, 0, width()), shape_.desc.heads, ctx);
    const int64_t kv_width = int64_t{shape_.kv_heads} * shape_.head_dim;
    k_norm_.forward_heads(columns(qkv, width(), kv_width), shape_.kv_heads, ctx);
  }
}

void AttentionBlock::attend(TensorView x, const AttentionRows& rows, const kernels::RopeTable& rope,
                            const kernels::PagedKv& kv, TensorView out, Arena scratch,
                            kernels::ExecCtx& ctx) const {
  const int64_t q_width = width();
  const int64_t kv_width = int64_t{shape_.kv_heads} * shape_.head_dim;
  const TensorView qkv = scratch.matrix(x.rows(), q_width + 2 * kv_width);
  project_inputs(x, qkv, scratch, ctx);

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

void AttentionBlock::project(TensorView attended, TensorView y, bool accumulate, Arena scratch,
                             kernels::ExecCtx& ctx) const {
  output_.forward(attended, y, {.accumulate = accumulate, .adapters = {}}, scratch, ctx);
}

int64_t AttentionBlock::bytes() const noexcept {
  int64_t bytes = qkv_.bytes() + output_.bytes() + q_norm_.bytes() + k_norm_.bytes();
  for (const device::Buffer& bias : bias_) bytes += static_cast<int64_t>(bias.bytes());
  return bytes;
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
