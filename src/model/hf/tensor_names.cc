// SPDX-License-Identifier: Apache-2.0
#include "model/hf/tensor_names.h"

#include <algorithm>
#include <span>

namespace o3::model {
namespace {

struct NamePair {
  std::string_view hf;
  std::string_view gguf;
};

constexpr NamePair kWhole[] = {
    {"model.embed_tokens.weight", "token_embd.weight"},
    {"model.norm.weight", "output_norm.weight"},
    {"lm_head.weight", "output.weight"},
};
// Of a layer, without ".weight" or ".bias".
constexpr NamePair kOfLayer[] = {
    {"input_layernorm", "attn_norm"},    {"self_attn.q_proj", "attn_q"},
    {"self_attn.k_proj", "attn_k"},      {"self_attn.v_proj", "attn_v"},
    {"self_attn.o_proj", "attn_output"}, {"self_attn.q_norm", "attn_q_norm"},
    {"self_attn.k_norm", "attn_k_norm"}, {"mlp.gate_proj", "ffn_gate"},
    {"mlp.up_proj", "ffn_up"},           {"mlp.down_proj", "ffn_down"},
};
constexpr NamePair kPlainNorms[] = {{"post_attention_layernorm", "ffn_norm"}};
constexpr NamePair kSandwichNorms[] = {
    {"post_attention_layernorm", "post_attention_norm"},
    {"pre_feedforward_layernorm", "ffn_norm"},
    {"post_feedforward_layernorm", "post_ffw_norm"},
};

using Side = std::string_view NamePair::*;

std::optional<std::string_view> look_up(std::span<const NamePair> table, std::string_view name,
                                        Side from, Side to) {
  const auto at = std::find_if(table.begin(), table.end(),
                               [&](const NamePair& row) { return row.*from == name; });
  if (at == table.end()) return std::nullopt;
  return (*at).*to;
}

std::optional<std::string> translate(std::string_view name, NormNames norms, Side from, Side to,
                                     std::string_view from_layers, std::string_view to_layers) {
  if (const auto whole = look_up(kWhole, name, from, to)) return std::string(*whole);
  if (!name.starts_with(from_layers)) return std::nullopt;
  const std::string_view rest = name.substr(from_layers.size());
  const size_t stem_at = rest.find('.');
  const size_t kind_at = rest.rfind('.');
  if (stem_at == std::string_view::npos || kind_at <= stem_at) return std::nullopt;
  const std::string_view number = rest.substr(0, stem_at);
  if (number.empty() || number.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view stem = rest.substr(stem_at + 1, kind_at - stem_at - 1);
  auto found = look_up(kOfLayer, stem, from, to);
  if (!found && norms == NormNames::kPlain) found = look_up(kPlainNorms, stem, from, to);
  if (!found && norms == NormNames::kSandwich) found = look_up(kSandwichNorms, stem, from, to);
  if (!found) return std::nullopt;
  return std::string(to_layers) + std::string(number) + "." + std::string(*found) +
         std::string(rest.substr(kind_at));
}

constexpr std::string_view kHfLayers = "model.layers.";
constexpr std::string_view kGgufLayers = "blk.";

}  // namespace

std::optional<std::string> gguf_tensor_name(std::string_view name, NormNames norms) {
  return translate(name, norms, &NamePair::hf, &NamePair::gguf, kHfLayers, kGgufLayers);
}

std::optional<std::string> hf_tensor_name(std::string_view name, NormNames norms) {
  return translate(name, norms, &NamePair::gguf, &NamePair::hf, kGgufLayers, kHfLayers);
}

}  // namespace o3::model
