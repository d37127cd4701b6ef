// SPDX-License-Identifier: Apache-2.0
#include "model/hf/hf_config.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/printable.h"

namespace o3::model {
namespace {

using nlohmann::json;

constexpr HfFamily kFamilies[] = {
    {.model_type = "llama", .architecture = "llama", .activation = "silu", .context = 2048},
    {.model_type = "mistral",
     .architecture = "llama",
     .activation = "silu",
     .kv_heads = 8,
     .context = 131072,
     .window = 4096},
    {.model_type = "qwen2",
     .architecture = "qwen2",
     .activation = "silu",
     .kv_heads = 32,
     .context = 32768,
     .window = 4096},
    {.model_type = "qwen3",
     .architecture = "qwen3",
     .activation = "silu",
     .kv_heads = 32,
     .head_dim = 128,
     .context = 32768,
     .window = 4096},
    {.model_type = "gemma3_text",
     .architecture = "gemma3",
     .activation = "gelu_pytorch_tanh",
     .heads = 8,
     .kv_heads = 4,
     .head_dim = 256,
     .context = 131072,
     .window = 4096,
     .rope_base = 1e6,
     .tied = true,
     .norms = NormNames::kSandwich},
};
constexpr std::string_view kMultimodal = "gemma3";  // its text_config is a gemma3_text

// What GGUF calls the settings that only need another name.
constexpr std::pair<const char*, const char*> kIntegers[] = {
    {"num_hidden_layers", "block_count"},
    {"hidden_size", "embedding_length"},
    {"intermediate_size", "feed_forward_length"},
    {"vocab_size", "vocab_size"},
};
constexpr std::pair<const char*, const char*> kLabels[] = {
    {"max_position_embeddings", "context_length"},
    {"num_attention_heads", "attention.head_count"},
    {"num_key_value_heads", "attention.head_count_kv"},
    {"head_dim", "attention.key_length"},
    {"head_dim", "attention.value_length"},
    {"rms_norm_eps", "attention.layer_norm_rms_epsilon"},
    {"rope_theta", "rope.freq_base"},
    {"rope_local_base_freq", "rope.freq_base_swa"},
    {"sliding_window", "attention.sliding_window"},
    {"layer_types", "attention.sliding_window_pattern"},
    {"query_pre_attn_scalar", "attention.scale"},
    {"attn_logit_softcapping", "attn_logit_softcapping"},
    {"final_logit_softcapping", "final_logit_softcapping"},
};

Error not_here(const HfFields& config, const std::string& name, const std::string& would_work) {
  return unsupported(config.label(name) + " is " +
                         printable(config.find(name)->dump(-1, ' ', true)) +
                         "; this build serves only models where it is " + would_work,
                     config.label(name));
}

class Translator {
 public:
  Translator(const HfFields& config, const HfFamily& family, HyperParameters& parameters)
      : config_(config), family_(family), parameters_(parameters) {}

  Result<void> run() {
    for (const auto& [name, gguf] : kIntegers) parameters_.call(gguf, config_.label(name));
    for (const auto& [name, gguf] : kLabels) parameters_.call(gguf, config_.label(name));
    O3_TRY(refuse_variants());
    O3_TRY(read_sizes());
    O3_TRY(read_heads());
    O3_TRY(read_hf_rope(config_, family_, parameters_));
    O3_TRY(read_window());
    return family_.architecture == "gemma3" ? read_gemma() : Result<void>{};
  }

 private:
  Result<void> refuse_variants() const {
    O3_ASSIGN(const auto causal, config_.flag("is_causal"));
    if (!causal.value_or(true)) return not_here(config_, "is_causal", "true");
    for (const char* name : {"attention_bias", "mlp_bias", "use_bidirectional_attention"}) {
      // Qwen 2 has biases of Q, K and V whatever it says.
      if (family_.model_type == "qwen2") break;
      O3_ASSIGN(const auto flag, config_.flag(name));
      if (flag.value_or(false)) return not_here(config_, name, "false");
    }
    // transformers reads hidden_activation for Gemma.
    const std::string name = family_.architecture == "gemma3" ? "hidden_activation" : "hidden_act";
    O3_ASSIGN(const auto activation, config_.text(name));
    const std::string found = activation.value_or(std::string(family_.activation));
    if (found == family_.activation || (found == "swish" && family_.activation == "silu")) {
      return {};
    }
    return not_here(config_, name, std::string(family_.activation));
  }

  Result<void> read_sizes() {
    for (const auto& [name, gguf] : kIntegers) {
      O3_ASSIGN(const auto value, config_.integer(name));
      if (value) parameters_.set(gguf, *value);
    }
    O3_ASSIGN(const auto context, config_.integer("max_position_embeddings"));
    parameters_.set("context_length", context.value_or(family_.context));
    O3_ASSIGN(const auto eps, config_.real("rms_norm_eps"));
    parameters_.set("attention.layer_norm_rms_epsilon", eps.value_or(1e-6));
    return {};
  }

  Result<void> read_heads() {
    O3_ASSIGN(auto heads, config_.integer("num_attention_heads"));
    if (!heads && family_.heads > 0) heads = family_.heads;
    if (heads) parameters_.set("attention.head_count", *heads);
    O3_ASSIGN(auto kv_heads, config_.integer("num_key_value_heads"));
    const bool says_null = config_.contains("num_key_value_heads");
    if (!kv_heads && !says_null && family_.kv_heads > 0) kv_heads = family_.kv_heads;
    if (kv_heads) parameters_.set("attention.head_count_kv", *kv_heads);
    O3_ASSIGN(auto head_dim, config_.integer("head_dim"));
    if (!head_dim && family_.head_dim > 0) head_dim = family_.head_dim;
    if (!head_dim) return {};
    parameters_.set("attention.key_length", *head_dim);
    parameters_.set("attention.value_length", *head_dim);
    return {};
  }

  // 0 where no layer has one.
  Result<int64_t> window() const {
    if (family_.window == 0) return 0;
    if (family_.model_type == "qwen2" || family_.model_type == "qwen3") {
      O3_ASSIGN(const auto use, config_.flag("use_sliding_window"));
      if (!use.value_or(false)) return 0;
    }
    O3_ASSIGN(const auto window, config_.integer("sliding_window"));
    if (window) return *window;
    return config_.contains("sliding_window") ? 0 : family_.window;
  }

  Result<void> read_window() {
    O3_ASSIGN(const int64_t width, window());
    parameters_.set("attention.sliding_window", width);
    if (width == 0) return {};
    // All layers of Mistral are alike; with layer types transformers takes the file for Ministral.
    if (family_.model_type == "mistral") return read_ministral();
    if (const json* types = config_.find("layer_types")) return read_layer_types(*types);
    if (family_.architecture == "gemma3") {
      O3_ASSIGN(const auto period, config_.integer("sliding_window_pattern"));
      parameters_.call("attention.sliding_window_pattern", config_.label("sliding_window_pattern"));
      if (period) parameters_.set("attention.sliding_window_pattern", *period);
      return {};
    }
    return read_window_layers();
  }

  Result<void> read_ministral() {
    const json* types = config_.find("layer_types");
    if (types == nullptr || !types->is_array() || types->empty()) return {};
    const auto all = [&](const char* name) {
      return std::ranges::all_of(*types, [name](const json& type) { return type == name; });
    };
    if (all("sliding_attention")) return {};
    if (!all("full_attention")) return not_here(config_, "layer_types", "the same for each layer");
    parameters_.set("attention.sliding_window", int64_t{0});
    return {};
  }

  Result<void> read_layer_types(const json& types) {
    const std::string label = config_.label("layer_types");
    if (!types.is_array()) return invalid(label + " must be a list", label);
    std::vector<int64_t> windowed;
    for (const json& type : types) {
      if (type != "sliding_attention" && type != "full_attention") {
        return unsupported(label + " holds " + printable(type.dump(-1, ' ', true)) +
                               "; full_attention and sliding_attention would work",
                           label);
      }
      windowed.push_back(type == "sliding_attention" ? 1 : 0);
    }
    parameters_.set("attention.sliding_window_pattern", std::move(windowed));
    return {};
  }

  // Qwen: all layers from this one on.
  Result<void> read_window_layers() {
    constexpr int64_t kDefault = 28;
    constexpr int64_t kMost = 4096;
    O3_ASSIGN(const auto first, config_.integer("max_window_layers"));
    O3_ASSIGN(const auto layers, config_.integer("num_hidden_layers"));
    if (!layers || *layers < 0 || *layers > kMost) return {};  // refused where layers are bounded
    std::vector<int64_t> windowed(static_cast<size_t>(*layers), 0);
    for (int64_t layer = std::max<int64_t>(0, first.value_or(kDefault)); layer < *layers; ++layer) {
      windowed[static_cast<size_t>(layer)] = 1;
    }
    parameters_.set("attention.sliding_window_pattern", std::move(windowed));
    return {};
  }

  Result<void> read_gemma() {
    constexpr double kScalar = 256.0;
    O3_ASSIGN(const auto scalar, config_.real("query_pre_attn_scalar"));
    parameters_.set("attention.scale", 1.0 / std::sqrt(scalar.value_or(kScalar)));
    for (const char* name : {"attn_logit_softcapping", "final_logit_softcapping"}) {
      O3_ASSIGN(const auto cap, config_.real(name));
      if (cap) parameters_.set(name, *cap);
    }
    return {};
  }

  const HfFields& config_;
  const HfFamily& family_;
  HyperParameters& parameters_;
};

Result<void> refuse_quantized(const HfFields& config) {
  for (const char* name : {"quantization_config", "compression_config"}) {
    O3_ASSIGN(const auto quantized, config.fields(name));
    if (!quantized) continue;
    O3_ASSIGN(const auto method, quantized->text("quant_method"));
    return unsupported("the weights are quantised (" + std::string(name) + ".quant_method is " +
                           printable(method.value_or("not named")) +
                           "); F32, F16 and BF16 safetensors or a GGUF file would work",
                       name);
  }
  return {};
}

Result<const HfFamily*> find_family(const std::string& model_type) {
  std::string known;
  for (const HfFamily& family : kFamilies) {
    if (family.model_type == model_type) return &family;
    known += std::string(family.model_type) + ", ";
  }
  return unsupported("model_type \"" + printable(model_type) +
                         "\" is not known to this build; it knows: " + known +
                         std::string(kMultimodal) + " (its text model)",
                     "model_type");
}

}  // namespace

Result<HfConfig> read_hf_config(const json& config, const std::string& source) {
  const HfFields top(config);
  O3_ASSIGN(const auto said, top.text("model_type"));
  if (!said) return invalid(source + ": config.json has no model_type", "model_type");
  O3_TRY(refuse_quantized(top));
  const bool multimodal = *said == kMultimodal;
  HfFields fields = top;
  if (multimodal) {
    O3_ASSIGN(const auto text, top.fields("text_config"));
    if (!text) return invalid(source + ": config.json has no text_config", "text_config");
    fields = *text;
    O3_TRY(refuse_quantized(fields));
  }
  O3_ASSIGN(const HfFamily* family, find_family(multimodal ? "gemma3_text" : *said));
  HfConfig result{.family = family,
                  .parameters = HyperParameters(std::string(family->architecture), ""),
                  .tied = family->tied,
                  .multimodal = multimodal};
  result.parameters.source = source;
  result.parameters.model_name = source;
  O3_TRY(Translator(fields, *family, result.parameters).run());
  O3_ASSIGN(const auto tied, top.flag("tie_word_embeddings"));
  if (tied) result.tied = *tied;
  return result;
}

Result<std::vector<int64_t>> hf_token_ids(const artifact::HfDirectory& directory,
                                          const char* name) {
  constexpr size_t kMost = 256;
  const json& config = directory.config();
  const auto text = config.find("text_config");
  std::vector<const json*> places{&directory.generation(), &config};
  if (text != config.end() && text->is_object()) places.push_back(&*text);
  for (const json* place : places) {
    const json* found = HfFields(*place).find(name);
    if (found == nullptr) continue;
    const json list = found->is_array() ? *found : json::array({*found});
    const auto is_id = [](const json& id) { return id.is_number_integer(); };
    if (list.size() > kMost || !std::all_of(list.begin(), list.end(), is_id)) {
      return invalid(std::string(name) + " must be a token id or a list of at most 256", name);
    }
    return list.get<std::vector<int64_t>>();
  }
  return std::vector<int64_t>{};
}

Result<void> check_hf_tokens(const artifact::HfDirectory& directory, int64_t vocabulary) {
  for (const char* name : {"eos_token_id", "bos_token_id", "pad_token_id"}) {
    O3_ASSIGN(const std::vector<int64_t> ids, hf_token_ids(directory, name));
    for (const int64_t id : ids) {
      const bool none = id == -1 && name == std::string_view("pad_token_id");
      if (none || (id >= 0 && id < vocabulary)) continue;
      return invalid(std::string(name) + " names token " + std::to_string(id) +
                         ", which is outside the vocabulary of " + std::to_string(vocabulary),
                     name);
    }
  }
  return {};
}

}  // namespace o3::model
