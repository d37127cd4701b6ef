// SPDX-License-Identifier: Apache-2.0
#include "model/decoder_config.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace o3::model {
namespace {

// Far above any published model, low enough that nothing sized by them can overflow or exhaust
// memory before the tensors themselves are checked.
constexpr int32_t kMaxLayers = 1024;
constexpr int32_t kMaxHidden = 1 << 16;
constexpr int32_t kMaxHeads = 1024;
constexpr int32_t kMaxHeadDim = 512;
constexpr int32_t kMaxFfn = 1 << 20;
constexpr int32_t kMaxVocabulary = 1 << 22;
constexpr int32_t kMaxContext = 1 << 20;
// Published models have 1e-12 to 1e-5. Wide, as a file keeps FP32, which may be a little below.
constexpr double kMinEps = 1e-20;
constexpr double kMaxEps = 1.0;

Result<void> refuse_variants(const ConfigReader& reader) {
  O3_TRY(reader.require_number("expert_count", 0));
  O3_ASSIGN(const bool causal, reader.flag_or("attention.causal", true));
  if (!causal) {
    return unsupported(reader.key("attention.causal") +
                           " is false: a model whose tokens see those behind them writes no text",
                       reader.key("attention.causal"));
  }
  for (const char* scale : {"logit_scale", "residual_scale", "embedding_scale"}) {
    O3_TRY(reader.require_number(scale, 1));
  }
  return {};
}

Result<void> read_heads(const ConfigReader& reader, ModelConfig& config) {
  O3_ASSIGN(config.heads, reader.integer("attention.head_count", 1, kMaxHeads));
  O3_ASSIGN(config.kv_heads,
            reader.integer_or("attention.head_count_kv", config.heads, 1, config.heads));
  if (config.heads % config.kv_heads != 0) {
    return invalid(reader.key("attention.head_count") + " (" + std::to_string(config.heads) +
                       ") must be a multiple of head_count_kv (" + std::to_string(config.kv_heads) +
                       ")",
                   reader.key("attention.head_count_kv"));
  }
  if (!reader.has("attention.key_length") && config.hidden % config.heads != 0) {
    return invalid(reader.key("embedding_length") + " (" + std::to_string(config.hidden) +
                       ") must be a multiple of head_count (" + std::to_string(config.heads) + ")",
                   reader.key("attention.head_count"));
  }
  O3_ASSIGN(config.head_dim, reader.integer_or("attention.key_length", config.hidden / config.heads,
                                               2, kMaxHeadDim));
  O3_TRY(reader.require_number("attention.value_length", config.head_dim));
  if (config.head_dim < 2 || config.head_dim > kMaxHeadDim || config.head_dim % 2 != 0) {
    return unsupported("heads of " + std::to_string(config.head_dim) +
                           " dimensions; even numbers up to " + std::to_string(kMaxHeadDim) +
                           " would work",
                       reader.key("attention.key_length"));
  }
  // What the scores are multiplied by; 0 is written for "the usual" by some converters.
  O3_ASSIGN(config.attention_scale, reader.real_or("attention.scale", 0.0, 0.0, 1e3));
  if (config.attention_scale == 0.0) {
    config.attention_scale = 1.0 / std::sqrt(static_cast<double>(config.head_dim));
  }
  return {};
}

// The embedding decides; metadata, where they say it too, must agree.
Result<int32_t> read_vocabulary(const ConfigReader& reader, const Checkpoint& checkpoint) {
  constexpr std::string_view kEmbedding = "token_embd.weight";
  const std::string name = checkpoint.source_name(kEmbedding);
  const device::TensorView* embedding = checkpoint.find_tensor(kEmbedding);
  if (const auto* unread = checkpoint.find_unread(kEmbedding)) {
    return unsupported(checkpoint.name() + ": " + name + " " + unread->problem, name);
  }
  if (embedding == nullptr) {
    return Error{Code::kNotFound, checkpoint.name() + " has no tensor " + name, name};
  }
  const int64_t rows = embedding->rank == 2 ? embedding->shape[0] : 0;
  if (rows < 1 || rows > kMaxVocabulary) {
    return invalid(
        name + " must have two dimensions and 1 to " + std::to_string(kMaxVocabulary) + " rows",
        name);
  }
  const auto vocabulary = static_cast<int32_t>(rows);
  O3_ASSIGN(const int32_t said, reader.integer_or("vocab_size", vocabulary, 1, kMaxVocabulary));
  if (said != vocabulary) {
    return invalid(reader.key("vocab_size") + " is " + std::to_string(said) +
                       " but the embedding has " + std::to_string(vocabulary) + " rows",
                   reader.key("vocab_size"));
  }
  return vocabulary;
}

}  // namespace

Result<ModelConfig> read_decoder_config(const ConfigReader& reader, const Checkpoint& checkpoint) {
  O3_TRY(refuse_variants(reader));
  ModelConfig config;
  config.architecture = reader.architecture();
  config.name = reader.model_name();
  O3_ASSIGN(config.layers, reader.integer("block_count", 1, kMaxLayers));
  O3_ASSIGN(config.hidden, reader.integer("embedding_length", 1, kMaxHidden));
  O3_ASSIGN(config.ffn, reader.integer("feed_forward_length", 1, kMaxFfn));
  O3_ASSIGN(config.context, reader.integer("context_length", 1, kMaxContext));
  O3_ASSIGN(config.rms_eps, reader.real("attention.layer_norm_rms_epsilon", kMinEps, kMaxEps));
  O3_TRY(read_heads(reader, config));
  O3_TRY(read_rope(reader, checkpoint, config));
  O3_ASSIGN(config.vocabulary, read_vocabulary(reader, checkpoint));
  return config;
}

Result<void> read_window(const ConfigReader& reader, int32_t pattern, ModelConfig& config) {
  O3_ASSIGN(config.window, reader.integer_or("attention.sliding_window", 0, 0, INT32_MAX));
  if (config.window == 0) return {};
  config.local_rope = config.rope;
  constexpr const char* kPattern = "attention.sliding_window_pattern";
  if (reader.is_array(kPattern)) {
    O3_ASSIGN(config.windowed, reader.truth_values(kPattern, config.layers));
  } else {
    O3_ASSIGN(const int32_t period, reader.integer_or(kPattern, pattern, 0, kMaxLayers));
    for (int32_t layer = 0; layer < config.layers; ++layer) {
      config.windowed.push_back(period == 0 || (layer + 1) % period != 0);
    }
  }
  const auto& windowed = config.windowed;
  if (std::find(windowed.begin(), windowed.end(), true) == windowed.end()) config.window = 0;
  return {};
}

}  // namespace o3::model
