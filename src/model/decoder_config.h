// SPDX-License-Identifier: Apache-2.0
// The part of a model's hyper-parameters that all families read alike; each family's file adds
// what is its own.
#pragma once

#include <initializer_list>

#include "base/result.h"
#include "model/checkpoint.h"
#include "model/config_reader.h"
#include "model/model_config.h"

namespace o3::model {

// Everything but the family's switches, bounded. The scale of attention is 1 / sqrt(head_dim), no
// layer is windowed, `style` is that of a Hugging Face checkpoint (kHalf). See load_model() for
// errors; settings that no family of this build implements (experts, scales) are refused.
Result<ModelConfig> read_decoder_config(const ConfigReader& reader, const Checkpoint& checkpoint);

// RoPE of the layers that see everything: base, scaling, divisors.
Result<void> read_rope(const ConfigReader& reader, const Checkpoint& checkpoint,
                       ModelConfig& config);

// attention.sliding_window, for the layers that attention.sliding_window_pattern names: a list of
// one truth value per layer, or a number N: all but every N-th layer. `pattern` is what an absent
// key means: 0 every layer, N > 0 as above. Local layers get the RoPE of the others.
Result<void> read_window(const ConfigReader& reader, int32_t pattern, ModelConfig& config);

}  // namespace o3::model
