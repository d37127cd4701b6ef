// SPDX-License-Identifier: Apache-2.0
#include "model/decoder.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kernels/elementwise.h"
#include "model/arena.h"
#include "model/attention_block.h"
#include "model/batch.h"
#include "model/decoder_tensors.h"
#include "model/ffn.h"
#include "model/linear_layer.h"
#include "model/rms_norm.h"

namespace o3::model {
namespace {

using device::TensorView;

struct DecoderLayer {
  RmsNorm attention_norm;
  AttentionBlock attention;
  RmsNorm post_attention_norm;  // ModelConfig::post_norms
  RmsNorm ffn_norm;
  std::unique_ptr<Ffn> ffn;
  RmsNorm post_ffn_norm;
  const kernels::RopeTable* rope = nullptr;
};

AttentionShape attention_shape(const ModelConfig& config, int32_t layer, device::DType kv_dtype) {
  AttentionShape shape;
  shape.hidden = config.hidden;
  shape.kv_heads = config.kv_heads;
  shape.head_dim = config.head_dim;
  shape.kv_dtype = kv_dtype;
  shape.desc.heads = config.heads;
  shape.desc.scale = static_cast<float>(config.attention_scale);
  shape.desc.window = config.is_windowed(layer) ? config.window : 0;
  shape.desc.softcap = static_cast<float>(config.attention_softcap);
  shape.bias = config.qkv_bias;
  shape.qk_norm = config.qk_norm;
  shape.norm_eps = config.rms_eps;
  shape.norm_offset = config.norm_offset;
  return shape;
}

// Kernels know types and shapes, not names.
Error in_tensor(Error error, std::string name) {
  error.param = std::move(name);
  return error;
}

class DecoderModel final : public HostModel {
 public:
  DecoderModel(std::shared_ptr<const Checkpoint> checkpoint, device::Backend& backend,
               const LoadOptions& options, ModelConfig config)
      : checkpoint_(std::move(checkpoint)),
        backend_(backend),
        options_(options),
        config_(std::move(config)),
        rope_(kernels::make_rope_table(config_.rope)) {
    if (config_.window > 0) local_rope_ = kernels::make_rope_table(config_.local_rope);
  }

  Result<void> pack(const DecoderTensors& tensors);

  const ModelConfig& config() const noexcept override { return config_; }
  std::span<const cache::CacheSpec> cache_specs() const noexcept override { return specs_; }
  int64_t weight_bytes() const noexcept override;
  int64_t workspace_bytes(int64_t rows, int64_t logit_rows) const override;
  Result<void> forward(const BatchView& batch, const KvView& kv, TensorView logits,
                       kernels::ExecCtx& ctx) const override;

 private:
  Result<DecoderLayer> pack_layer(const LayerTensors& tensors, int32_t index);
  void embed(const BatchView& batch, TensorView x, kernels::ExecCtx& ctx) const;
  void finish_layer(const DecoderLayer& layer, TensorView attended, TensorView x, TensorView normed,
                    Arena scratch, kernels::ExecCtx& ctx) const;

  std::shared_ptr<const Checkpoint> checkpoint_;  // embedding_ points into it
  device::Backend& backend_;
  LoadOptions options_;
  ModelConfig config_;
  kernels::RopeTable rope_;
  kernels::RopeTable local_rope_;  // of windowed layers
  std::vector<cache::CacheSpec> specs_;
  TensorView embedding_;
  std::vector<DecoderLayer> layers_;
  RmsNorm output_norm_;
  LinearLayer head_;
};

Result<DecoderLayer> DecoderModel::pack_layer(const LayerTensors& tensors, int32_t index) {
  const AttentionShape shape = attention_shape(config_, index, options_.kv_dtype);
  const auto norm = [this](TensorView weight) {
    return RmsNorm::load(weight, config_.rms_eps, config_.norm_offset, backend_);
  };
  DecoderLayer layer;
  O3_ASSIGN(layer.attention_norm, norm(tensors.attention_norm));
  O3_ASSIGN(layer.attention, AttentionBlock::load(shape, tensors.attention, backend_));
  O3_ASSIGN(layer.ffn_norm, norm(tensors.ffn_norm));
  O3_ASSIGN(layer.ffn, make_gated_ffn(tensors.ffn, config_.activation, backend_));
  if (config_.post_norms) {
    O3_ASSIGN(layer.post_attention_norm, norm(tensors.post_attention_norm));
    O3_ASSIGN(layer.post_ffn_norm, norm(tensors.post_ffn_norm));
  }
  layer.rope = config_.is_windowed(index) ? &local_rope_ : &rope_;
  return layer;
}

Result<void> DecoderModel::pack(const DecoderTensors& tensors) {
  if (!kernels::can_dequantize(tensors.embedding.dtype)) {
    return unsupported(
        "no kernel reads rows of a " + std::string(device::traits(tensors.embedding.dtype).name) +
            " embedding; F32, F16 and the block types of docs/model-files.md would work",
        checkpoint_->source_name("token_embd.weight"));
  }
  for (int32_t index = 0; index < config_.layers; ++index) {
    auto layer = pack_layer(tensors.layers[static_cast<size_t>(index)], index);
    if (!layer.ok()) return in_tensor(layer.error(), "blk." + std::to_string(index));
    layers_.push_back(*std::move(layer));
    specs_.push_back(layer_cache_spec(config_, index, options_.kv_dtype));
  }
  O3_ASSIGN(output_norm_,
            RmsNorm::load(tensors.output_norm, config_.rms_eps, config_.norm_offset, backend_));
  auto head = LinearLayer::pack({&tensors.head, 1}, backend_);
  if (!head.ok()) return in_tensor(head.error(), checkpoint_->source_name("output.weight"));
  head_ = *std::move(head);
  embedding_ = tensors.embedding;
  return {};
}

int64_t DecoderModel::weight_bytes() const noexcept {
  int64_t bytes = output_norm_.bytes() + head_.bytes() + embedding_.row_stride;
  for (const DecoderLayer& layer : layers_) {
    bytes += layer.attention_norm.bytes() + layer.attention.bytes() + layer.ffn_norm.bytes() +
             layer.ffn->bytes() + layer.post_attention_norm.bytes() + layer.post_ffn_norm.bytes();
  }
  return bytes;
}

int64_t DecoderModel::workspace_bytes(int64_t rows, int64_t logit_rows) const {
  int64_t scratch = head_.workspace_bytes(logit_rows, options_.compute);
  const int64_t branch = config_.post_norms ? Arena::matrix_bytes(rows, config_.hidden) : 0;
  for (const DecoderLayer& layer : layers_) {
    scratch = std::max({scratch, layer.attention.workspace_bytes(rows, options_.compute, backend_),
                        layer.ffn->workspace_bytes(rows, options_.compute)});
  }
  return 2 * Arena::matrix_bytes(rows, config_.hidden) + branch +
         Arena::matrix_bytes(rows, layers_.front().attention.width()) + scratch;
}

void DecoderModel::embed(const BatchView& batch, TensorView x, kernels::ExecCtx& ctx) const {
  kernels::embed(embedding_, batch.tokens, x, ctx);
  if (config_.embedding_scale != 1.0) {
    kernels::scale(static_cast<float>(config_.embedding_scale), x, ctx);
  }
}

// x += attention output, then x += FFN; each through its own norm first where the family has them.
void DecoderModel::finish_layer(const DecoderLayer& layer, TensorView attended, TensorView x,
                                TensorView normed, Arena scratch, kernels::ExecCtx& ctx) const {
  if (!config_.post_norms) {
    layer.attention.project(attended, x, true, scratch, ctx);
    layer.ffn_norm.forward(x, normed, ctx);
    layer.ffn->forward(normed, x, true, scratch, ctx);
    return;
  }
  const TensorView branch = scratch.matrix(x.rows(), config_.hidden);
  layer.attention.project(attended, branch, false, scratch, ctx);
  layer.post_attention_norm.forward(branch, branch, ctx);
  kernels::add(branch, x, ctx);
  layer.ffn_norm.forward(x, normed, ctx);
  layer.ffn->forward(normed, branch, false, scratch, ctx);
  layer.post_ffn_norm.forward(branch, branch, ctx);
  kernels::add(branch, x, ctx);
}

Result<void> DecoderModel::forward(const BatchView& batch, const KvView& kv, TensorView logits,
                                   kernels::ExecCtx& ctx) const {
  O3_CHECK(ctx.compute == options_.compute, "weights are packed for the other compute path");
  check_batch(batch, config_.vocabulary, logits);
  const auto rows = static_cast<int64_t>(batch.tokens.size());
  const std::vector<LayerKv> layer_kv = layer_views(kv, layers_.size());

  Arena arena(ctx.workspace);
  TensorView x = arena.matrix(rows, config_.hidden);
  TensorView normed = arena.matrix(rows, config_.hidden);
  TensorView attended = arena.matrix(rows, layers_.front().attention.width());
  embed(batch, x, ctx);

  for (size_t index = 0; index < layers_.size(); ++index) {
    const DecoderLayer& layer = layers_[index];
    const auto sequences = batch.sequences[layer_kv[index].group];
    layer.attention_norm.forward(x, normed, ctx);
    const bool last = index + 1 == layers_.size();
    std::vector<kernels::AttnSequence> wanted;
    if (last) wanted = cut_to_rows(sequences, batch.logit_rows);
    const AttentionRows attention_rows{
        .positions = batch.positions,
        .sequences = sequences,
        .queries = last ? std::span<const kernels::AttnSequence>(wanted) : sequences};
    layer.attention.attend(normed, attention_rows, *layer.rope, layer_kv[index].pages, attended,
                           arena, ctx);
    if (last) {
      // Behind the last K/V only the rows that become logits matter.
      if (batch.logit_rows.empty()) return {};
      x = keep_rows(x, batch.logit_rows);
      attended = keep_rows(attended, batch.logit_rows);
      normed = first_rows(normed, x.rows());
    }
    finish_layer(layer, attended, x, normed, arena, ctx);
  }
  output_norm_.forward(x, x, ctx);
  head_.forward(x, logits, {}, arena, ctx);
  if (config_.logit_softcap > 0) {
    kernels::softcap(static_cast<float>(config_.logit_softcap), logits, ctx);
  }
  return {};
}

}  // namespace

cache::CacheSpec layer_cache_spec(const ModelConfig& config, int32_t layer,
                                  device::DType kv_dtype) {
  const bool windowed = config.is_windowed(layer);
  return {.kind = windowed ? cache::CacheKind::kSlidingWindow : cache::CacheKind::kFull,
          .kv_heads = config.kv_heads,
          .head_dim = config.head_dim,
          .window = windowed ? config.window : 0,
          .dtype = kv_dtype};
}

Result<std::unique_ptr<Model>> load_decoder(const std::shared_ptr<const Checkpoint>& checkpoint,
                                            ModelConfig config, device::Backend& backend,
                                            const LoadOptions& options) {
  O3_ASSIGN(const DecoderTensors tensors, bind_decoder(*checkpoint, config));
  auto model = std::make_unique<DecoderModel>(checkpoint, backend, options, std::move(config));
  O3_TRY(model->pack(tensors));
  checkpoint->release_pages();
  return std::unique_ptr<Model>(std::move(model));
}

}  // namespace o3::model
