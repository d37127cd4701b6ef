// SPDX-License-Identifier: Apache-2.0
#include "model/cuda/step_program.h"

#include <algorithm>

#include "kernels/cuda/rows.h"
#include "kernels/cuda/skinny.h"

namespace o3::model::cuda {
namespace {

namespace kernel = kernels::cuda;
using device::DType;
using device::MemTag;

// What a product with `w` reads. E4M3 weights meet E4M3 rows where there are many; few rows stay
// 16-bit, for their products are as fast as weights can be read.
DType input_type(const DeviceMatrix& w, int32_t rows) {
  if (!w.is_e4m3()) return w.dtype;
  return rows <= kernel::kSkinnyRows ? DType::kF16 : DType::kF8_E4M3;
}

float* floats(const device::Buffer& buffer) {
  return reinterpret_cast<float*>(buffer.data());
}

}  // namespace

StepProgram::StepProgram(const ModelConfig& config, const DeviceWeights& weights,
                         const RunnerLimits& limits, device::cuda::CudaBackend& backend,
                         const KvView& kv, const StepStaging& staging)
    : config_(config),
      weights_(weights),
      limits_(limits),
      backend_(backend),
      staging_(staging),
      layer_kv_(layer_views(kv, weights.layers.size())),
      most_rows_(staging.most_rows()),
      most_logit_rows_(std::min(most_rows_, std::max(limits.logit_rows, 1) + 64)) {}

Result<std::unique_ptr<StepProgram>> StepProgram::create(
    const ModelConfig& config, const DeviceWeights& weights, const RunnerLimits& limits,
    device::cuda::CudaBackend& backend, const KvView& kv, const StepStaging& staging) {
  auto program = std::make_unique<StepProgram>(config, weights, limits, backend, kv, staging);
  O3_ASSIGN(program->gemm_, kernel::Gemm::create(backend));
  O3_TRY(program->allocate());
  return program;
}

// The largest output of a product that is not written elsewhere.
int64_t StepProgram::sums_bytes(int32_t rows) const {
  int64_t most = 0;
  const auto skinny = [&](const DeviceMatrix& w) {
    const int64_t few = std::min(rows, kernel::kSkinnyRows);
    most = std::max(most, few * kernel::skinny_splits(w.k) * w.n * 4);
  };
  for (const DeviceLayer& layer : weights_.layers) {
    for (const DeviceMatrix* w : {&layer.qkv, &layer.output, &layer.gate_up, &layer.down}) {
      skinny(*w);
    }
    most = std::max({most, int64_t{rows} * layer.qkv.n * 4, int64_t{rows} * layer.gate_up.n * 2,
                     int64_t{rows} * config_.hidden * 4});
  }
  skinny(weights_.head());
  return most;
}

Result<void> StepProgram::allocate() {
  const auto take = [this](device::Buffer& to, int64_t bytes) -> Result<void> {
    O3_ASSIGN(to, backend_.allocate(static_cast<size_t>(std::max<int64_t>(bytes, 256)),
                                    MemTag::kWorkspace));
    return {};
  };
  const int64_t rows = most_rows_;
  const int64_t logit_rows = most_logit_rows_;
  const int64_t heads = int64_t{config_.heads} * config_.head_dim;
  const int64_t width = std::max<int64_t>(config_.hidden, heads);
  O3_TRY(take(residual_, rows * config_.hidden * 4));
  O3_TRY(take(x_, rows * width * 2));
  O3_TRY(take(gated_, rows * std::max<int64_t>(config_.ffn * 2, heads)));
  O3_TRY(take(x_scales_, rows * 4));
  O3_TRY(take(gated_scales_, rows * 4));
  O3_TRY(take(q_, rows * heads * 2));
  O3_TRY(take(sums_, sums_bytes(most_rows_)));
  O3_TRY(take(kept_residual_, logit_rows * config_.hidden * 4));
  O3_TRY(take(kept_x_, logit_rows * width * 2));
  O3_TRY(take(partials_, kernel::attention_partial_bytes(staging_.most_splits(), config_.heads,
                                                         config_.head_dim)));
  O3_TRY(take(logits_, logit_rows * config_.vocabulary * 4));
  O3_TRY(take(best_, logit_rows * 4));
  // Rows of padding are never written, but read by products.
  return backend_.enqueue_zero(x_.data(), x_.bytes());
}

void StepProgram::norm(const DeviceVector& weight, DType dtype, const Pending& pending,
                       int32_t rows) {
  kernel::add_norm({.residual = residual_now_,
                    .sums = reinterpret_cast<const float*>(sums_.data()),
                    .splits = pending.sums.splits,
                    .scales = pending.sums.scales,
                    .post_weight = pending.post_norm,
                    .weight = weight.values(),
                    .eps = static_cast<float>(config_.rms_eps),
                    .dtype = dtype,
                    .out = x_now_,
                    .out_scales = floats(x_scales_),
                    .rows = rows,
                    .width = config_.hidden},
                   backend_.stream());
}

// x * w^T into sums_, in as many planes as it returns; or, if so asked and the product can, added
// to the residual.
Result<StepProgram::Sums> StepProgram::product(const DeviceMatrix& w, const Input& x, int32_t rows,
                                               bool into_residual) {
  if (rows <= kernel::kSkinnyRows) {
    kernel::skinny({.dtype = w.dtype,
                    .w = w.data.data(),
                    .scales = w.scales.values(),
                    .x = x.data,
                    .n = w.n,
                    .k = w.k,
                    .rows = rows,
                    .sums = floats(sums_)},
                   backend_.stream());
    return Sums{.splits = kernel::skinny_splits(w.k), .scales = {}};
  }
  into_residual = into_residual && !w.is_e4m3();  // sums without their scales cannot go there
  void* to = into_residual ? static_cast<void*>(residual_now_) : sums_.data();
  O3_TRY(gemm_->run({.dtype = w.dtype,
                     .x = x.data,
                     .w = w.data.data(),
                     .y = to,
                     .rows = rows,
                     .n = w.n,
                     .k = w.k,
                     .accumulate = into_residual}));
  if (into_residual) return Sums{};
  Sums sums{.splits = 1, .scales = {}};
  if (w.is_e4m3()) sums.scales = {x.scales, w.scales.values()};
  return sums;
}

Result<StepProgram::Pending> StepProgram::add_product(const DeviceMatrix& w, const Input& x,
                                                      int32_t rows, const DeviceVector& post_norm) {
  O3_ASSIGN(const Sums sums, product(w, x, rows, post_norm.values() == nullptr));
  return Pending{sums, post_norm.values()};
}

// What attention left in x_now_, as the product with `w` wants it.
StepProgram::Input StepProgram::attention_input(const DeviceMatrix& w, int32_t rows) {
  if (input_type(w, rows) != DType::kF8_E4M3) return {x_now_, nullptr};
  kernel::quantize_rows({.dtype = DType::kF16,
                         .in = x_now_,
                         .out = gated_.data(),
                         .scales = floats(gated_scales_),
                         .rows = rows,
                         .width = w.k},
                        backend_.stream());
  return {gated_.data(), floats(gated_scales_)};
}

// gated_ = activation(gate(x)) * up(x).
Result<void> StepProgram::gated(const DeviceLayer& layer, int32_t rows) {
  const DeviceMatrix& w = layer.gate_up;
  const bool gelu = config_.activation == Activation::kGelu;
  kernel::GateArgs gate{.dtype = input_type(layer.down, rows),
                        .in = sums_.data(),
                        .scales = {},
                        .out = gated_.data(),
                        .out_scales = floats(gated_scales_),
                        .rows = rows,
                        .n = w.n / 2,
                        .gelu = gelu};
  const bool fused = w.k <= kernel::kSkinnySplit && w.n % 8 == 0 && w.dtype == layer.down.dtype;
  if (rows <= kernel::kSkinnyRows && fused) {
    kernel::skinny({.dtype = w.dtype,
                    .w = w.data.data(),
                    .scales = w.scales.values(),
                    .x = x_now_,
                    .n = w.n,
                    .k = w.k,
                    .rows = rows,
                    .gate = gelu ? kernel::Gate::kGelu : kernel::Gate::kSilu,
                    .gated = gated_.data()},
                   backend_.stream());
    return {};
  }
  if (rows <= kernel::kSkinnyRows || w.dtype != layer.down.dtype) {
    O3_ASSIGN(const Sums sums, product(w, {x_now_, floats(x_scales_)}, rows, false));
    gate.splits = sums.splits;
  } else {
    const DType sums = w.is_e4m3() ? DType::kBF16 : w.dtype;
    O3_TRY(gemm_->run({.dtype = w.dtype,
                       .y_dtype = sums,
                       .x = x_now_,
                       .w = w.data.data(),
                       .y = sums_.data(),
                       .rows = rows,
                       .n = w.n,
                       .k = w.k}));
    gate.in_dtype = sums;
    if (w.is_e4m3()) gate.scales = {floats(x_scales_), w.scales.values()};
  }
  kernel::gate(gate, backend_.stream());
  return {};
}

// x_ = attention over the cache, to which the rows' K and V are appended, for the normed x_.
Result<void> StepProgram::attend(size_t index, const StepShape& shape) {
  const DeviceLayer& layer = weights_.layers[index];
  const LayerKv& kv = layer_kv_[index];
  const kernel::KvStep step = staging_.step(kv.group, shape);
  O3_ASSIGN(const Sums sums, product(layer.qkv, {x_now_, floats(x_scales_)}, shape.rows, false));
  kernel::rope_append({.sums = reinterpret_cast<const float*>(sums_.data()),
                       .splits = sums.splits,
                       .scales = sums.scales,
                       .bias = layer.bias.values(),
                       .q_norm = layer.q_norm.values(),
                       .k_norm = layer.k_norm.values(),
                       .eps = static_cast<float>(config_.rms_eps),
                       .rope = layer.rope->view,
                       .positions = staging_.positions(),
                       .kv = kv.pages,
                       .step = step,
                       .heads = config_.heads,
                       .rows = shape.rows,
                       .q = q_.data()},
                      backend_.stream());
  const kernel::AttentionArgs attention{
      .desc = layer.attention,
      .kv = kv.pages,
      .step = step,
      .rows = shape.rows,
      .q = q_.data(),
      .out_dtype = layer.output.is_e4m3() ? DType::kF16 : layer.output.dtype,
      .out = x_now_,
      .partials = reinterpret_cast<float*>(partials_.data())};
  if (!kernel::attention_is_fast(layer.attention, kv.pages)) {
    kernel::plain_attention(attention, backend_.stream());
    return {};
  }
  if (step.decode_capacity > 0) kernel::decode_attention(attention, backend_.stream());
  if (step.prefill_capacity > 0) kernel::prefill_attention(attention, backend_.stream());
  return {};
}

// Behind the last K/V only the rows that become logits matter.
void StepProgram::keep_logit_rows(const StepShape& shape) {
  const auto keep = [&](std::byte* from, device::Buffer& to, int64_t row_bytes) {
    kernel::gather({.from = from,
                    .to = to.data(),
                    .rows = staging_.logit_rows(),
                    .count = shape.logit_rows,
                    .row_bytes = row_bytes},
                   backend_.stream());
    return to.data();
  };
  const int64_t heads = int64_t{config_.heads} * config_.head_dim;
  residual_now_ =
      reinterpret_cast<float*>(keep(residual_.data(), kept_residual_, int64_t{config_.hidden} * 4));
  x_now_ = keep(x_.data(), kept_x_, heads * 2);
}

// Softcap and the largest of each row, from the head's planes of sums.
void StepProgram::finish(const StepShape& shape, int32_t head_splits) {
  auto* logits = reinterpret_cast<float*>(logits_.data());
  kernel::finish_logits(
      {.sums = head_splits > 1 ? reinterpret_cast<const float*>(sums_.data()) : logits,
       .splits = head_splits,
       .softcap = static_cast<float>(config_.logit_softcap),
       .logits = logits,
       .best = reinterpret_cast<int32_t*>(best_.data()),
       .rows = shape.logit_rows,
       .width = config_.vocabulary},
      backend_.stream());
}

Result<void> StepProgram::head(const StepShape& shape, const Pending& pending) {
  const DeviceMatrix& head = weights_.head();
  norm(weights_.output_norm, head.dtype, pending, shape.logit_rows);
  const bool few = shape.logit_rows <= kernel::kSkinnyRows;
  const int32_t splits = few ? kernel::skinny_splits(head.k) : 1;
  if (splits > 1) {
    O3_TRY(product(head, {x_now_, nullptr}, shape.logit_rows, false));
  } else if (few) {
    kernel::skinny({.dtype = head.dtype,
                    .w = head.data.data(),
                    .x = x_now_,
                    .n = head.n,
                    .k = head.k,
                    .rows = shape.logit_rows,
                    .sums = reinterpret_cast<float*>(logits_.data())},
                   backend_.stream());
  } else {
    O3_TRY(gemm_->run({.dtype = head.dtype,
                       .x = x_now_,
                       .w = head.data.data(),
                       .y = logits_.data(),
                       .rows = shape.logit_rows,
                       .n = head.n,
                       .k = head.k}));
  }
  finish(shape, splits);
  return {};
}

Result<void> StepProgram::enqueue(const StepShape& shape) {
  residual_now_ = reinterpret_cast<float*>(residual_.data());
  x_now_ = x_.data();
  kernel::embed({.dtype = weights_.embedding.dtype,
                 .table = weights_.embedding.data.data(),
                 .tokens = staging_.tokens(),
                 .residual = residual_now_,
                 .rows = shape.rows,
                 .width = config_.hidden,
                 .scale = static_cast<float>(config_.embedding_scale)},
                backend_.stream());
  return layers(shape);
}

// From the embeddings on.
Result<void> StepProgram::layers(const StepShape& shape) {
  int32_t rows = shape.rows;
  Pending pending;
  for (size_t index = 0; index < weights_.layers.size(); ++index) {
    const DeviceLayer& layer = weights_.layers[index];
    norm(layer.attention_norm, input_type(layer.qkv, rows), pending, rows);
    O3_TRY(attend(index, shape));
    if (index + 1 == weights_.layers.size() && !shape.all_rows) {
      if (shape.logit_rows == 0) return {};
      keep_logit_rows(shape);
      rows = shape.logit_rows;
    }
    O3_ASSIGN(pending, add_product(layer.output, attention_input(layer.output, rows), rows,
                                   layer.post_attention_norm));
    norm(layer.ffn_norm, input_type(layer.gate_up, rows), pending, rows);
    O3_TRY(gated(layer, rows));
    O3_ASSIGN(pending, add_product(layer.down, {gated_.data(), floats(gated_scales_)}, rows,
                                   layer.post_ffn_norm));
  }
  return head(shape, pending);
}

}  // namespace o3::model::cuda
