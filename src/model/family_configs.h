// SPDX-License-Identifier: Apache-2.0
// What each family reads beyond read_decoder_config(); one file each.
#pragma once

#include "base/result.h"
#include "model/checkpoint.h"
#include "model/hyper_parameters.h"
#include "model/model_config.h"

namespace o3::model {

// Llama 2 and 3 (Touvron et al. 2023), and what is built alike: SmolLM2, Mistral (Jiang et al.
// 2023), whose GGUF files say "llama" too and may have a sliding window.
Result<ModelConfig> read_llama_config(const HyperParameters& parameters,
                                      const Checkpoint& checkpoint);
// Qwen 2 and 2.5: biases in Q, K and V.
Result<ModelConfig> read_qwen2_config(const HyperParameters& parameters,
                                      const Checkpoint& checkpoint);
// Qwen 3, dense: norms of query and key heads, whose width is a key of its own.
Result<ModelConfig> read_qwen3_config(const HyperParameters& parameters,
                                      const Checkpoint& checkpoint);
// Gemma 3, text: five local layers for each that sees everything, norms before and behind each
// block, GeGLU.
Result<ModelConfig> read_gemma3_config(const HyperParameters& parameters,
                                       const Checkpoint& checkpoint);

}  // namespace o3::model
