// SPDX-License-Identifier: Apache-2.0
#include "model/decoder_config.h"
#include "model/family_configs.h"

namespace o3::model {

Result<ModelConfig> read_llama_config(const HyperParameters& parameters,
                                      const Checkpoint& checkpoint) {
  const ConfigReader reader(parameters);
  O3_ASSIGN(ModelConfig config, read_decoder_config(reader, checkpoint));
  // The rows of Q and K in llama GGUF files are permuted so that rotated pairs are neighbours.
  if (checkpoint.convention() == Convention::kGguf) {
    config.rope.style = kernels::RopeStyle::kInterleaved;
  }
  O3_TRY(read_window(reader, 0, config));
  return config;
}

}  // namespace o3::model
