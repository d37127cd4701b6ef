// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/result.h"
#include "model/attention_block.h"
#include "model/checkpoint.h"
#include "model/ffn.h"
#include "model/model_config.h"

namespace o3::model {

// Views into the checkpoint, checked; what one layer is made from.
struct LayerTensors {
  device::TensorView attention_norm;
  AttentionWeights attention;
  device::TensorView post_attention_norm;  // empty without ModelConfig::post_norms
  device::TensorView ffn_norm;
  GatedWeights ffn;
  device::TensorView post_ffn_norm;
};

struct DecoderTensors {
  device::TensorView embedding;  // [vocabulary, hidden]
  std::vector<LayerTensors> layers;
  device::TensorView output_norm;
  device::TensorView head;  // [vocabulary, hidden]; the embedding when the checkpoint has no other
};

// See WeightBinder::finish() for errors.
Result<DecoderTensors> bind_decoder(const Checkpoint& checkpoint, const ModelConfig& config);

}  // namespace o3::model
