// SPDX-License-Identifier: Apache-2.0
// Names of tensors in Hugging Face checkpoints and in GGUF files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace o3::model {

// Whether norms lie behind the blocks too: then "post_attention_layernorm" is the norm behind
// attention, not the one before the FFN.
enum class NormNames : uint8_t { kPlain, kSandwich };

// "model.layers.0.self_attn.q_proj.weight" -> "blk.0.attn_q.weight"; nothing for names that GGUF
// has no name for.
std::optional<std::string> gguf_tensor_name(std::string_view name, NormNames norms);
// The other way.
std::optional<std::string> hf_tensor_name(std::string_view name, NormNames norms);

}  // namespace o3::model
