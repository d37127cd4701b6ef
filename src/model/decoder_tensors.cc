// SPDX-License-Identifier: Apache-2.0
#include "model/decoder_tensors.h"

#include <string>

#include "model/weights.h"

namespace o3::model {
namespace {

AttentionWeights bind_attention(WeightBinder& binder, const ModelConfig& config,
                                const std::string& prefix) {
  const int64_t q_width = int64_t{config.heads} * config.head_dim;
  const int64_t kv_width = int64_t{config.kv_heads} * config.head_dim;
  AttentionWeights weights;
  weights.q = binder.matrix(prefix + "attn_q.weight", q_width, config.hidden);
  weights.k = binder.matrix(prefix + "attn_k.weight", kv_width, config.hidden);
  weights.v = binder.matrix(prefix + "attn_v.weight", kv_width, config.hidden);
  weights.output = binder.matrix(prefix + "attn_output.weight", config.hidden, q_width);
  if (config.qkv_bias) {
    weights.bias = {binder.vector(prefix + "attn_q.bias", q_width),
                    binder.vector(prefix + "attn_k.bias", kv_width),
                    binder.vector(prefix + "attn_v.bias", kv_width)};
  }
  if (config.qk_norm) {
    weights.q_norm = binder.vector(prefix + "attn_q_norm.weight", config.head_dim);
    weights.k_norm = binder.vector(prefix + "attn_k_norm.weight", config.head_dim);
  }
  return weights;
}

LayerTensors bind_layer(WeightBinder& binder, const ModelConfig& config, int32_t layer) {
  const std::string prefix = "blk." + std::to_string(layer) + ".";
  LayerTensors tensors;
  tensors.attention_norm = binder.vector(prefix + "attn_norm.weight", config.hidden);
  tensors.attention = bind_attention(binder, config, prefix);
  tensors.ffn_norm = binder.vector(prefix + "ffn_norm.weight", config.hidden);
  tensors.ffn.gate = binder.matrix(prefix + "ffn_gate.weight", config.ffn, config.hidden);
  tensors.ffn.up = binder.matrix(prefix + "ffn_up.weight", config.ffn, config.hidden);
  tensors.ffn.down = binder.matrix(prefix + "ffn_down.weight", config.hidden, config.ffn);
  if (config.post_norms) {
    tensors.post_attention_norm =
        binder.vector(prefix + "post_attention_norm.weight", config.hidden);
    tensors.post_ffn_norm = binder.vector(prefix + "post_ffw_norm.weight", config.hidden);
  }
  return tensors;
}

}  // namespace

Result<DecoderTensors> bind_decoder(const Checkpoint& checkpoint, const ModelConfig& config) {
  WeightBinder binder(checkpoint);
  DecoderTensors tensors;
  tensors.embedding = binder.matrix("token_embd.weight", config.vocabulary, config.hidden);
  for (int32_t layer = 0; layer < config.layers; ++layer) {
    tensors.layers.push_back(bind_layer(binder, config, layer));
  }
  tensors.output_norm = binder.vector("output_norm.weight", config.hidden);
  tensors.head = binder.has("output.weight")
                     ? binder.matrix("output.weight", config.vocabulary, config.hidden)
                     : tensors.embedding;
  // Already in ModelConfig::rope.
  if (binder.has("rope_freqs.weight")) binder.vector("rope_freqs.weight", config.rope.dim / 2);
  O3_TRY(binder.finish());
  return tensors;
}

}  // namespace o3::model
