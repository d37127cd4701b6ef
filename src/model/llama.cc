// SPDX-License-Identifier: Apache-2.0
#include "model/llama.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "kernels/elementwise.h"
#include "model/arena.h"
#include "model/attention_block.h"
#include "model/batch.h"
#include "model/ffn.h"
#include "model/linear_layer.h"
#include "model/rms_norm.h"
#include "model/weights.h"

namespace o3::model {
namespace {

using device::TensorView;

struct LlamaLayer {
  RmsNorm attention_norm;
  AttentionBlock attention;
  RmsNorm ffn_norm;
  std::unique_ptr<Ffn> ffn;
};

// Views into the file, checked; what one layer is made from.
struct LayerTensors {
  TensorView attention_norm;
  AttentionWeights attention;
  TensorView ffn_norm;
  SwigluWeights ffn;
};

struct LlamaTensors {
  TensorView embedding;  // [vocabulary, hidden]
  std::vector<LayerTensors> layers;
  TensorView output_norm;
  TensorView head;  // [vocabulary, hidden]; the embedding itself when the file has no other
};

LayerTensors bind_layer(WeightBinder& binder, const ModelConfig& config, int32_t layer) {
  const std::string prefix = "blk." + std::to_string(layer) + ".";
  const int64_t q_width = int64_t{config.heads} * config.head_dim;
  const int64_t kv_width = int64_t{config.kv_heads} * config.head_dim;
  LayerTensors tensors;
  tensors.attention_norm = binder.vector(prefix + "attn_norm.weight", config.hidden);
  tensors.attention.q = binder.matrix(prefix + "attn_q.weight", q_width, config.hidden);
  tensors.attention.k = binder.matrix(prefix + "attn_k.weight", kv_width, config.hidden);
  tensors.attention.v = binder.matrix(prefix + "attn_v.weight", kv_width, config.hidden);
  tensors.attention.output = binder.matrix(prefix + "attn_output.weight", config.hidden, q_width);
  tensors.ffn_norm = binder.vector(prefix + "ffn_norm.weight", config.hidden);
  tensors.ffn.gate = binder.matrix(prefix + "ffn_gate.weight", config.ffn, config.hidden);
  tensors.ffn.up = binder.matrix(prefix + "ffn_up.weight", config.ffn, config.hidden);
  tensors.ffn.down = binder.matrix(prefix + "ffn_down.weight", config.hidden, config.ffn);
  return tensors;
}

Result<LlamaTensors> bind_tensors(const artifact::GgufFile& file, const ModelConfig& config) {
  WeightBinder binder(file);
  LlamaTensors tensors;
  tensors.embedding = binder.matrix("token_embd.weight", config.vocabulary, config.hidden);
  for (int32_t layer = 0; layer < config.layers; ++layer) {
    tensors.layers.push_back(bind_layer(binder, config, layer));
  }
  tensors.output_norm = binder.vector("output_norm.weight", config.hidden);
  tensors.head = binder.has("output.weight")
                     ? binder.matrix("output.weight", config.vocabulary, config.hidden)
                     : tensors.embedding;
  O3_TRY(binder.finish());
  return tensors;
}

AttentionShape attention_shape(const ModelConfig& config, device::DType kv_dtype) {
  AttentionShape shape;
  shape.hidden = config.hidden;
  shape.kv_heads = config.kv_heads;
  shape.head_dim = config.head_dim;
  shape.kv_dtype = kv_dtype;
  shape.desc.heads = config.heads;
  shape.desc.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.head_dim)));
  return shape;
}

// Kernels know types and shapes, not names.
Error in_tensor(Error error, std::string name) {
  error.param = std::move(name);
  return error;
}

class LlamaModel final : public Model {
 public:
  static Result<std::unique_ptr<Model>> load(std::shared_ptr<const artifact::GgufFile> file,
                                             device::Backend& backend, const LoadOptions& options);

  const ModelConfig& config() const noexcept override { return config_; }
  std::span<const cache::CacheSpec> cache_specs() const noexcept override { return specs_; }
  int64_t weight_bytes() const noexcept override;
  int64_t workspace_bytes(int64_t rows, int64_t logit_rows) const override;
  Result<void> forward(const BatchView& batch, const KvView& kv, TensorView logits,
                       kernels::ExecCtx& ctx) const override;

 private:
  LlamaModel(std::shared_ptr<const artifact::GgufFile> file, device::Backend& backend,
             const LoadOptions& options, ModelConfig config)
      : file_(std::move(file)),
        backend_(backend),
        options_(options),
        config_(std::move(config)),
        rope_(kernels::make_rope_table(config_.rope)) {}

  Result<LlamaLayer> pack_layer(const LayerTensors& tensors);
  Result<void> pack(const LlamaTensors& tensors);
  bool keeps_source() const noexcept;

  std::shared_ptr<const artifact::GgufFile> file_;  // embedding_ points into it
  device::Backend& backend_;
  LoadOptions options_;
  ModelConfig config_;
  kernels::RopeTable rope_;
  std::vector<cache::CacheSpec> specs_;
  TensorView embedding_;
  std::vector<LlamaLayer> layers_;
  RmsNorm output_norm_;
  LinearLayer head_;
};

Result<std::unique_ptr<Model>> LlamaModel::load(std::shared_ptr<const artifact::GgufFile> file,
                                                device::Backend& backend,
                                                const LoadOptions& options) {
  O3_ASSIGN(ModelConfig config, read_llama_config(*file));
  O3_ASSIGN(const LlamaTensors tensors, bind_tensors(*file, config));
  std::unique_ptr<LlamaModel> model;
  model.reset(new LlamaModel(std::move(file), backend, options, std::move(config)));
  O3_TRY(model->pack(tensors));
  if (!model->keeps_source()) model->file_->release_pages();
  return std::unique_ptr<Model>(std::move(model));
}

Result<LlamaLayer> LlamaModel::pack_layer(const LayerTensors& tensors) {
  const AttentionShape shape = attention_shape(config_, options_.kv_dtype);
  LlamaLayer layer;
  O3_ASSIGN(layer.attention_norm, RmsNorm::load(tensors.attention_norm, config_.rms_eps, backend_));
  O3_ASSIGN(layer.attention,
            AttentionBlock::load(shape, tensors.attention, options_.compute, backend_));
  O3_ASSIGN(layer.ffn_norm, RmsNorm::load(tensors.ffn_norm, config_.rms_eps, backend_));
  O3_ASSIGN(layer.ffn, make_swiglu_ffn(tensors.ffn, options_.compute, backend_));
  return layer;
}

Result<void> LlamaModel::pack(const LlamaTensors& tensors) {
  if (!kernels::can_dequantize(tensors.embedding.dtype)) {
    return unsupported("no kernel reads rows of a " +
                           std::string(device::traits(tensors.embedding.dtype).name) +
                           " embedding; F32, F16 and the block types of docs/model-files.md would work",
                       "token_embd.weight");
  }
  for (const LayerTensors& source : tensors.layers) {
    auto layer = pack_layer(source);
    if (!layer.ok()) return in_tensor(layer.error(), "blk." + std::to_string(layers_.size()));
    layers_.push_back(*std::move(layer));
  }
  specs_.assign(layers_.size(), {.kind = cache::CacheKind::kFull,
                                 .kv_heads = config_.kv_heads,
                                 .head_dim = config_.head_dim,
                                 .window = 0,
                                 .dtype = options_.kv_dtype});
  O3_ASSIGN(output_norm_, RmsNorm::load(tensors.output_norm, config_.rms_eps, backend_));
  auto head = LinearLayer::pack({&tensors.head, 1}, options_.compute, backend_);
  if (!head.ok()) return in_tensor(head.error(), "output.weight");
  head_ = *std::move(head);
  embedding_ = tensors.embedding;
  return {};
}

bool LlamaModel::keeps_source() const noexcept {
  return head_.keeps_source() ||
         std::any_of(layers_.begin(), layers_.end(), [](const LlamaLayer& layer) {
           return layer.attention.keeps_source() || layer.ffn->keeps_source();
         });
}

int64_t LlamaModel::weight_bytes() const noexcept {
  int64_t bytes = output_norm_.bytes() + head_.bytes() + embedding_.row_stride;
  for (const LlamaLayer& layer : layers_) {
    bytes += layer.attention_norm.bytes() + layer.attention.bytes() + layer.ffn_norm.bytes() +
             layer.ffn->bytes();
  }
  return bytes;
}

int64_t LlamaModel::workspace_bytes(int64_t rows, int64_t logit_rows) const {
  int64_t scratch = head_.workspace_bytes(logit_rows, options_.compute);
  for (const LlamaLayer& layer : layers_) {
    scratch = std::max({scratch, layer.attention.workspace_bytes(rows, options_.compute, backend_),
                        layer.ffn->workspace_bytes(rows, options_.compute)});
  }
  return 2 * Arena::matrix_bytes(rows, config_.hidden) +
         Arena::matrix_bytes(rows, layers_.front().attention.width()) + scratch;
}

Result<void> LlamaModel::forward(const BatchView& batch, const KvView& kv, TensorView logits,
                                 kernels::ExecCtx& ctx) const {
  O3_CHECK(ctx.compute == options_.compute, "weights are packed for the other compute path");
  check_batch(batch, config_.vocabulary, logits);
  const auto rows = static_cast<int64_t>(batch.tokens.size());
  const std::vector<LayerKv> layer_kv = layer_views(kv, layers_.size());

  Arena arena(ctx.workspace);
  TensorView x = arena.matrix(rows, config_.hidden);
  TensorView normed = arena.matrix(rows, config_.hidden);
  TensorView attended = arena.matrix(rows, layers_.front().attention.width());
  kernels::embed(embedding_, batch.tokens, x, ctx);

  for (size_t index = 0; index < layers_.size(); ++index) {
    const LlamaLayer& layer = layers_[index];
    const auto sequences = batch.sequences[layer_kv[index].group];
    layer.attention_norm.forward(x, normed, ctx);
    const bool last = index + 1 == layers_.size();
    std::vector<kernels::AttnSequence> wanted;
    if (last) wanted = cut_to_rows(sequences, batch.logit_rows);
    const AttentionRows attention_rows{
        .positions = batch.positions,
        .sequences = sequences,
        .queries = last ? std::span<const kernels::AttnSequence>(wanted) : sequences};
    layer.attention.attend(normed, attention_rows, rope_, layer_kv[index].pages, attended, arena,
                           ctx);
    if (last) {
      // Behind the last K/V only the rows that become logits matter.
      if (batch.logit_rows.empty()) return {};
      x = keep_rows(x, batch.logit_rows);
      attended = keep_rows(attended, batch.logit_rows);
      normed = first_rows(normed, x.rows());
    }
    layer.attention.project(attended, x, arena, ctx);
    layer.ffn_norm.forward(x, normed, ctx);
    layer.ffn->forward(normed, x, arena, ctx);
  }
  output_norm_.forward(x, x, ctx);
  head_.forward(x, logits, {}, arena, ctx);
  return {};
}

}  // namespace

Result<std::unique_ptr<Model>> load_llama(std::shared_ptr<const artifact::GgufFile> file,
                                          device::Backend& backend, const LoadOptions& options) {
  return LlamaModel::load(std::move(file), backend, options);
}

}  // namespace o3::model
