// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "model/decoder_config.h"
#include "model/family_configs.h"

namespace o3::model {
namespace {

constexpr int32_t kPeriod = 6;              // every sixth layer sees everything
constexpr double kLocalRopeBase = 10000.0;  // GGUF files of the first converters have no key for it
constexpr int32_t kLayersOf27B = 62;

// Files have no key for the scale either: it is 1 / sqrt(head_dim) in all published sizes but the
// largest, where it is 1 / sqrt(hidden / heads).
double default_scale(const ModelConfig& config) {
  if (config.layers != kLayersOf27B) return config.attention_scale;
  return 1.0 / std::sqrt(static_cast<double>(config.hidden) / config.heads);
}

}  // namespace

Result<ModelConfig> read_gemma3_config(const HyperParameters& parameters,
                                       const Checkpoint& checkpoint) {
  const ConfigReader reader(parameters);
  O3_ASSIGN(ModelConfig config, read_decoder_config(reader, checkpoint));
  if (!reader.has("attention.scale")) config.attention_scale = default_scale(config);
  O3_ASSIGN(config.attention_softcap, reader.real_or("attn_logit_softcapping", 0.0, 0.0, 1e6));
  O3_ASSIGN(config.logit_softcap, reader.real_or("final_logit_softcapping", 0.0, 0.0, 1e6));
  config.embedding_scale = std::sqrt(static_cast<double>(config.hidden));
  config.activation = Activation::kGelu;
  config.qk_norm = true;
  config.post_norms = true;
  // The weights of Gemma's norms are kept as differences from 1; converters to GGUF add it.
  config.norm_offset = checkpoint.convention() == Convention::kGguf ? 0.0 : 1.0;
  O3_TRY(read_window(reader, kPeriod, config));
  O3_ASSIGN(config.local_rope.base,
            reader.real_or("rope.freq_base_swa", kLocalRopeBase, 1.0, 1e12));
  config.local_rope.scaling = {};  // only the layers that see everything were stretched
  return config;
}

}  // namespace o3::model
