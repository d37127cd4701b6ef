// SPDX-License-Identifier: Apache-2.0
#include "model/decoder_config.h"
#include "model/family_configs.h"

namespace o3::model {

Result<ModelConfig> read_qwen3_config(const HyperParameters& parameters,
                                      const Checkpoint& checkpoint) {
  const ConfigReader reader(parameters);
  O3_ASSIGN(ModelConfig config, read_decoder_config(reader, checkpoint));
  config.qk_norm = true;
  O3_TRY(read_window(reader, 0, config));
  return config;
}

}  // namespace o3::model
