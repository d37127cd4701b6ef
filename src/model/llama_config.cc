// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>

#include "model/config_reader.h"
#include "model/llama.h"

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
constexpr int64_t kMaxRopePairs = int64_t{1} << 26;  // positions x pairs: 512 MiB of table

Result<void> refuse_variants(const ConfigReader& reader) {
  O3_TRY(reader.require_number("expert_count", 0));
  O3_TRY(reader.require_number("attention.sliding_window", 0));
  O3_TRY(reader.require_number("rope.scale_linear", 1));
  O3_TRY(reader.require_number("rope.scaling.factor", 1));
  O3_TRY(reader.require_text("rope.scaling.type", "none"));
  for (const char* scale :
       {"attention.scale", "logit_scale", "residual_scale", "embedding_scale"}) {
    O3_TRY(reader.require_number(scale, 1));
  }
  return {};
}

Result<void> read_heads(const ConfigReader& reader, ModelConfig& config) {
  O3_ASSIGN(config.heads, reader.integer("attention.head_count", 1, kMaxHeads));
  O3_ASSIGN(config.kv_heads,
            reader.integer_or("attention.head_count_kv", config.heads, 1, config.heads));
  if (config.heads % config.kv_heads != 0) {
    return invalid("llama.attention.head_count (" + std::to_string(config.heads) +
                       ") must be a multiple of head_count_kv (" + std::to_string(config.kv_heads) +
                       ")",
                   "llama.attention.head_count_kv");
  }
  if (!reader.has("attention.key_length") && config.hidden % config.heads != 0) {
    return invalid("llama.embedding_length (" + std::to_string(config.hidden) +
                       ") must be a multiple of head_count (" + std::to_string(config.heads) + ")",
                   "llama.attention.head_count");
  }
  O3_ASSIGN(config.head_dim, reader.integer_or("attention.key_length", config.hidden / config.heads,
                                               2, kMaxHeadDim));
  O3_TRY(reader.require_number("attention.value_length", config.head_dim));
  if (config.head_dim < 2 || config.head_dim > kMaxHeadDim || config.head_dim % 2 != 0) {
    return unsupported("heads of " + std::to_string(config.head_dim) +
                           " dimensions; even numbers up to " + std::to_string(kMaxHeadDim) +
                           " would work",
                       "llama.attention.key_length");
  }
  return {};
}

Result<void> read_rope(const ConfigReader& reader, ModelConfig& config) {
  O3_ASSIGN(config.rope.dim,
            reader.integer_or("rope.dimension_count", config.head_dim, 2, config.head_dim));
  if (config.rope.dim % 2 != 0) {
    return invalid("llama.rope.dimension_count must be even", "llama.rope.dimension_count");
  }
  O3_ASSIGN(config.rope.base, reader.real_or("rope.freq_base", 10000.0, 1.0, 1e12));
  if (int64_t{config.context} * (config.rope.dim / 2) > kMaxRopePairs) {
    return unsupported("a RoPE table of " + std::to_string(config.context) + " positions and " +
                           std::to_string(config.rope.dim) + " dimensions exceeds 512 MiB",
                       "llama.context_length");
  }
  // The rows of Q and K in llama files are permuted so that rotated pairs are neighbours.
  config.rope.style = kernels::RopeStyle::kInterleaved;
  config.rope.max_positions = config.context;
  return {};
}

// The embedding decides; metadata, where they say it too, must agree.
Result<int32_t> read_vocabulary(const artifact::GgufFile& file, const ConfigReader& reader) {
  O3_ASSIGN(const device::TensorView embedding, file.tensor("token_embd.weight"));
  const int64_t rows = embedding.rank == 2 ? embedding.shape[0] : 0;
  if (rows < 1 || rows > kMaxVocabulary) {
    return invalid("token_embd.weight must have two dimensions and 1 to " +
                       std::to_string(kMaxVocabulary) + " rows",
                   "token_embd.weight");
  }
  const auto vocabulary = static_cast<int32_t>(rows);
  O3_ASSIGN(const int32_t said, reader.integer_or("vocab_size", vocabulary, 1, kMaxVocabulary));
  if (said != vocabulary) {
    return invalid("llama.vocab_size is " + std::to_string(said) + " but the embedding has " +
                       std::to_string(vocabulary) + " rows",
                   "llama.vocab_size");
  }
  return vocabulary;
}

}  // namespace

Result<ModelConfig> read_llama_config(const artifact::GgufFile& file) {
  const ConfigReader reader(file, "llama");
  O3_TRY(refuse_variants(reader));
  ModelConfig config;
  config.architecture = "llama";
  O3_ASSIGN(std::optional<std::string> name, file.optional<std::string>("general.name"));
  config.name = std::move(name).value_or("");
  O3_ASSIGN(config.layers, reader.integer("block_count", 1, kMaxLayers));
  O3_ASSIGN(config.hidden, reader.integer("embedding_length", 1, kMaxHidden));
  O3_ASSIGN(config.ffn, reader.integer("feed_forward_length", 1, kMaxFfn));
  O3_ASSIGN(config.context, reader.integer("context_length", 1, kMaxContext));
  O3_ASSIGN(config.rms_eps, reader.real("attention.layer_norm_rms_epsilon", 1e-12, 0.1));
  O3_TRY(read_heads(reader, config));
  O3_TRY(read_rope(reader, config));
  O3_ASSIGN(config.vocabulary, read_vocabulary(file, reader));
  return config;
}

}  // namespace o3::model
