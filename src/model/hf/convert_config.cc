// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/rope.h"
#include "model/hf/convert.h"

namespace o3::model {
namespace {

using kernels::RopeScaling;
using kernels::RopeScalingKind;
using Json = nlohmann::ordered_json;

constexpr int32_t kUnusedWindow = 4096;  // the default of transformers' class

struct Class {
  const char* model_type;
  const char* architecture;
};

bool every_layer_windowed(const ModelConfig& config) {
  return config.window > 0 &&
         std::find(config.windowed.begin(), config.windowed.end(), false) == config.windowed.end();
}

Class class_of(const ModelConfig& config) {
  if (config.architecture == "qwen2") return {"qwen2", "Qwen2ForCausalLM"};
  if (config.architecture == "qwen3") return {"qwen3", "Qwen3ForCausalLM"};
  if (config.architecture == "gemma3") return {"gemma3_text", "Gemma3ForCausalLM"};
  if (config.window > 0) return {"mistral", "MistralForCausalLM"};
  return {"llama", "LlamaForCausalLM"};
}

// Whether the scaling turns each pair as fast as the divisors make it.
bool does_the_same(const RopeScaling& scaling, const kernels::RopeParams& rope) {
  kernels::RopeParams scaled = rope;
  scaled.divisors.clear();
  scaled.scaling = scaling;
  const std::vector<double> found = kernels::rope_frequencies(scaled, 0);
  const std::vector<double> wanted = kernels::rope_frequencies(rope, 0);
  for (size_t i = 0; i < found.size(); ++i) {
    if (!(std::abs(found[i] - wanted[i]) <= 1e-4 * wanted[i])) return false;
  }
  return true;
}

// What a conversion of ours wrote beside rope_freqs.weight.
std::optional<RopeScaling> kept_scaling(const HyperParameters& parameters) {
  const auto number = [&parameters](const char* name) {
    const HyperValue* value = parameters.find(std::string(kKeptScaling) + name);
    const auto* real = value == nullptr ? nullptr : std::get_if<double>(value);
    return real == nullptr ? 0.0 : *real;
  };
  RopeScaling scaling;
  scaling.kind = RopeScalingKind::kLlama3;
  scaling.factor = number("factor");
  scaling.low_frequency = number("low_freq_factor");
  scaling.high_frequency = number("high_freq_factor");
  const double original = number("original_context_length");
  constexpr double kMost = 1 << 24;
  const bool bounded = scaling.factor > 0.0 && scaling.factor <= kMost &&
                       scaling.low_frequency > 0.0 && scaling.high_frequency <= kMost &&
                       scaling.high_frequency > scaling.low_frequency && original >= 1.0 &&
                       original <= kMost;
  if (!bounded) return std::nullopt;
  scaling.original_positions = static_cast<int32_t>(original);
  return scaling;
}

// rope_freqs.weight has lost what it was made from. Between long waves, which are slowed by
// `factor`, and short ones, which are kept, 1/divisor falls on a line over the wave's rotations;
// the line gives back low and high for any original length, and files agree on low_freq_factor 1.
std::optional<RopeScaling> guessed_scaling(const kernels::RopeParams& rope) {
  const std::vector<float>& divisors = rope.divisors;
  kernels::RopeParams plain = rope;
  plain.divisors.clear();
  const std::vector<double> frequencies = kernels::rope_frequencies(plain, 0);
  RopeScaling scaling;
  scaling.kind = RopeScalingKind::kLlama3;
  scaling.factor =
      std::round(double{*std::max_element(divisors.begin(), divisors.end())} * 1e4) / 1e4;
  if (scaling.factor <= 1.0) return std::nullopt;
  std::vector<std::pair<double, double>> points;  // frequency, smooth
  for (size_t i = 0; i < divisors.size(); ++i) {
    const double smooth =
        (1.0 / double{divisors[i]} - 1.0 / scaling.factor) / (1.0 - 1.0 / scaling.factor);
    if (smooth > 1e-4 && smooth < 1.0 - 1e-4) points.emplace_back(frequencies[i], smooth);
  }
  if (points.size() < 2) return std::nullopt;
  const auto& [f0, s0] = points.front();
  const auto& [f1, s1] = points.back();
  const double slope = (s1 - s0) / (f1 - f0) * 2.0 * std::acos(-1.0);
  const double shift = s0 - (s1 - s0) / (f1 - f0) * f0;
  if (!(slope > 0.0 && shift < 0.0)) return std::nullopt;
  // smooth = (original * frequency / 2 pi - low) / (high - low)
  scaling.original_positions = static_cast<int32_t>(std::lround(-slope / shift));
  const double width = scaling.original_positions / slope;
  scaling.low_frequency = std::round(-shift * width * 1e4) / 1e4;
  scaling.high_frequency = std::round((scaling.low_frequency + width) * 1e4) / 1e4;
  return scaling;
}

Json scaling_json(const RopeScaling& scaling) {
  Json json;
  switch (scaling.kind) {
    case RopeScalingKind::kNone:
      return nullptr;
    case RopeScalingKind::kLinear:
      return {{"rope_type", "linear"}, {"factor", scaling.factor}};
    case RopeScalingKind::kDynamic:
      return {{"rope_type", "dynamic"}, {"factor", scaling.factor}};
    case RopeScalingKind::kLlama3:
      return {{"rope_type", "llama3"},
              {"factor", scaling.factor},
              {"low_freq_factor", scaling.low_frequency},
              {"high_freq_factor", scaling.high_frequency},
              {"original_max_position_embeddings", scaling.original_positions}};
    case RopeScalingKind::kYarn:
      json = {{"rope_type", "yarn"},
              {"factor", scaling.factor},
              {"beta_fast", scaling.beta_fast},
              {"beta_slow", scaling.beta_slow},
              {"original_max_position_embeddings", scaling.original_positions}};
      if (scaling.magnitude != kernels::yarn_magnitude(scaling.factor)) {
        json["attention_factor"] = scaling.magnitude;
      }
      if (!scaling.truncate) json["truncate"] = false;
      return json;
  }
  return nullptr;
}

Result<RopeScaling> scaling_of(const HyperParameters& parameters, const kernels::RopeParams& rope) {
  if (rope.divisors.empty()) return rope.scaling;
  if (rope.scaling.kind == RopeScalingKind::kNone) {
    for (const auto& found : {kept_scaling(parameters), guessed_scaling(rope)}) {
      if (found && does_the_same(*found, rope)) return *found;
    }
  }
  return unsupported("rope_freqs.weight follows no scaling that config.json can say",
                     "rope_freqs.weight");
}

Result<void> add_rope(const ModelSource& source, const ModelConfig& config, Json& json) {
  if (config.rope.dim != config.head_dim) {
    return unsupported("only a part of each head is rotated (" + std::to_string(config.rope.dim) +
                           " of " + std::to_string(config.head_dim) +
                           " dimensions), which transformers does not do in such a model",
                       source.parameters.label("rope.dimension_count"));
  }
  O3_ASSIGN(const RopeScaling scaling, scaling_of(source.parameters, config.rope));
  json["rope_theta"] = config.rope.base;
  json["rope_scaling"] = scaling_json(scaling);
  // Dynamic scaling starts at max_position_embeddings itself.
  if (scaling.kind == RopeScalingKind::kDynamic) {
    json["max_position_embeddings"] = scaling.original_positions;
  }
  return {};
}

void add_layer_types(const ModelConfig& config, Json& json) {
  Json types = Json::array();
  for (int32_t layer = 0; layer < config.layers; ++layer) {
    types.push_back(config.is_windowed(layer) ? "sliding_attention" : "full_attention");
  }
  json["layer_types"] = std::move(types);
}

Result<void> add_window(const ModelConfig& config, Json& json) {
  const std::string type = json["model_type"];
  if (type == "llama") return {};
  if (type == "mistral") {
    if (!every_layer_windowed(config)) {
      return unsupported("a sliding window in some layers only, which no llama config.json can say",
                         "attention.sliding_window_pattern");
    }
    json["sliding_window"] = config.window;
    return {};
  }
  if (type != "gemma3_text") json["use_sliding_window"] = config.window > 0;
  json["sliding_window"] = config.window > 0 ? Json(config.window) : Json();
  // transformers wants a number for Gemma also where layer_types leaves it without a use.
  if (type == "gemma3_text" && config.window == 0) json["sliding_window"] = kUnusedWindow;
  if (config.window > 0 || type == "gemma3_text") add_layer_types(config, json);
  return {};
}

void add_gemma(const ModelConfig& config, Json& json) {
  const double scalar = 1.0 / (config.attention_scale * config.attention_scale);
  const double whole = std::round(scalar);
  // transformers wants a whole number here; a scale that came as FP32 gives almost one.
  json["query_pre_attn_scalar"] =
      std::abs(scalar - whole) < 1e-5 * scalar ? Json(static_cast<int64_t>(whole)) : Json(scalar);
  const auto cap = [](double value) { return value > 0.0 ? Json(value) : Json(); };
  json["attn_logit_softcapping"] = cap(config.attention_softcap);
  json["final_logit_softcapping"] = cap(config.logit_softcap);
  if (config.window > 0) json["rope_local_base_freq"] = config.local_rope.base;
}

}  // namespace

Result<Json> hf_config_json(const ModelSource& source, const ModelConfig& config) {
  const Class type = class_of(config);
  const bool gemma = config.activation == Activation::kGelu;
  // Within what FP32 keeps of 1/sqrt(head_dim).
  const double relative_scale =
      config.attention_scale * std::sqrt(static_cast<double>(config.head_dim));
  if (!gemma && std::abs(relative_scale - 1.0) > 1e-6) {
    return unsupported("a scale of the attention scores of its own, which no " +
                           std::string(type.model_type) + " config.json can say",
                       "attention.scale");
  }
  Json json = {{"architectures", {type.architecture}},
               {"model_type", type.model_type},
               {"vocab_size", config.vocabulary},
               {"hidden_size", config.hidden},
               {"intermediate_size", config.ffn},
               {"num_hidden_layers", config.layers},
               {"num_attention_heads", config.heads},
               {"num_key_value_heads", config.kv_heads},
               {"head_dim", config.head_dim},
               {"max_position_embeddings", config.context},
               {"rms_norm_eps", config.rms_eps},
               {"tie_word_embeddings", source.checkpoint->find_tensor("output.weight") == nullptr},
               {gemma ? "hidden_activation" : "hidden_act", gemma ? "gelu_pytorch_tanh" : "silu"}};
  O3_TRY(add_rope(source, config, json));
  O3_TRY(add_window(config, json));
  if (gemma) add_gemma(config, json);
  return json;
}

void add_gguf_settings(const ModelSource& source, const ModelConfig& config,
                       artifact::GgufWriter& writer) {
  const std::string& architecture = source.parameters.architecture();
  writer.add("general.architecture", architecture);
  writer.add("general.name", source.parameters.model_name);
  const std::string prefix = architecture + ".";
  const bool divisors = config.rope.scaling.kind == RopeScalingKind::kLlama3;
  for (const auto& [name, value] : source.parameters.values()) {
    if (divisors && name.starts_with("rope.scaling.")) continue;  // rope_freqs.weight says it
    const std::string key = prefix + name;
    if (const auto* flag = std::get_if<bool>(&value)) writer.add_scalar(key, *flag);
    if (const auto* text = std::get_if<std::string>(&value)) writer.add(key, *text);
    if (const auto* real = std::get_if<double>(&value)) {
      writer.add_scalar(key, static_cast<float>(*real));
    }
    // Bounded by read_config(), so that it fits.
    if (const auto* integer = std::get_if<int64_t>(&value)) {
      writer.add_scalar(key, static_cast<uint32_t>(*integer));
    }
    if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
      const std::vector<uint32_t> numbers(list->begin(), list->end());
      writer.add_array(key, std::span<const uint32_t>(numbers));
    }
  }
  if (divisors) {
    const RopeScaling& scaling = config.rope.scaling;
    const std::string kept = kKeptScaling;
    writer.add_scalar(kept + "factor", scaling.factor);
    writer.add_scalar(kept + "low_freq_factor", scaling.low_frequency);
    writer.add_scalar(kept + "high_freq_factor", scaling.high_frequency);
    writer.add_scalar(kept + "original_context_length", double(scaling.original_positions));
  }
  if (source.parameters.find("rope.dimension_count") == nullptr) {
    writer.add_scalar(prefix + "rope.dimension_count", static_cast<uint32_t>(config.rope.dim));
  }
}

}  // namespace o3::model
