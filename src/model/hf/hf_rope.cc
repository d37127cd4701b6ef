// SPDX-License-Identifier: Apache-2.0
// What config.json says about RoPE, as transformers 5 understands it (modeling_rope_utils.py).
#include <algorithm>
#include <cmath>
#include <string>

#include "base/printable.h"
#include "kernels/rope.h"
#include "model/hf/hf_config.h"

namespace o3::model {
namespace {

constexpr double kMostPositions = 1 << 24;

// The settings of one kind of layer, gathered from where a file may keep them.
struct RopeFields {
  std::optional<HfFields> scaling;  // type, factor and so on; perhaps base too
  std::optional<double> base;
};

Result<RopeFields> gather(const HfFields& config, const char* layer_type) {
  RopeFields rope;
  O3_ASSIGN(rope.scaling, config.fields("rope_scaling"));
  O3_ASSIGN(rope.base, config.real("rope_theta"));
  O3_ASSIGN(const auto parameters, config.fields("rope_parameters"));
  if (!parameters) return rope;
  std::optional<HfFields> chosen = parameters;
  if (layer_type != nullptr) {
    O3_ASSIGN(chosen, parameters->fields(layer_type));
  } else if (parameters->contains("full_attention")) {
    return unsupported("rope_parameters by kind of layer; this build knows them for Gemma 3 only",
                       config.label("rope_parameters"));
  }
  // As in transformers: the older member wins, and a base beside the scaling before one outside.
  if (chosen) {
    O3_ASSIGN(const auto inside, chosen->real("rope_theta"));
    if (inside) rope.base = inside;
  }
  if (!rope.scaling) rope.scaling = chosen;
  return rope;
}

Result<std::string> rope_type(const HfFields& scaling) {
  O3_ASSIGN(const auto type, scaling.text("rope_type"));
  if (type) return *type;
  O3_ASSIGN(const auto legacy, scaling.text("type"));
  return legacy.value_or("default");
}

Result<double> yarn_attention(const HfFields& scaling, double factor) {
  O3_ASSIGN(const auto said, scaling.real("attention_factor"));
  if (said) return *said;
  O3_ASSIGN(const auto mscale, scaling.real("mscale"));
  O3_ASSIGN(const auto of_all, scaling.real("mscale_all_dim"));
  if (mscale.value_or(0.0) == 0.0 || of_all.value_or(0.0) == 0.0) {
    return kernels::yarn_magnitude(factor);
  }
  const auto scaled = [factor](double m) {
    return factor <= 1 ? 1.0 : 0.1 * m * std::log(factor) + 1;
  };
  return scaled(*mscale) / scaled(*of_all);
}

class RopeTranslator {
 public:
  RopeTranslator(const HfFields& config, const HfFields& scaling, HyperParameters& parameters)
      : config_(config), scaling_(scaling), parameters_(parameters) {}

  Result<void> run() {
    O3_ASSIGN(const std::string type, rope_type(scaling_));
    parameters_.call("rope.scaling.type", scaling_.label("rope_type"));
    parameters_.set("rope.scaling.type", type == "default" ? "none" : type);
    if (type == "default") return {};
    O3_TRY(real("factor", "rope.scaling.factor"));
    if (type == "linear") return require("factor");
    O3_ASSIGN(const auto context, config_.integer("max_position_embeddings"));
    const int64_t positions =
        context.value_or(std::get<int64_t>(*parameters_.find("context_length")));
    if (type == "dynamic") return read_dynamic(positions);
    O3_TRY(read_original(positions));
    if (type == "llama3") return read_llama3();
    return type == "yarn" ? read_yarn(positions) : Result<void>{};  // others: refused by name
  }

 private:
  Result<void> real(const char* name, const char* gguf) {
    parameters_.call(gguf, scaling_.label(name));
    O3_ASSIGN(const auto value, scaling_.real(name));
    if (value) parameters_.set(gguf, *value);
    return {};
  }
  Result<void> require(const char* name) const {
    if (scaling_.find(name) != nullptr) return {};
    return invalid(scaling_.label(name) + " is missing", scaling_.label(name));
  }

  Result<void> read_original(int64_t positions) {
    constexpr const char* kName = "original_max_position_embeddings";
    parameters_.call("rope.scaling.original_context_length", scaling_.label(kName));
    O3_ASSIGN(const auto beside, config_.integer(kName));
    O3_ASSIGN(const auto inside, scaling_.integer(kName));
    original_ = beside.value_or(inside.value_or(positions));
    parameters_.set("rope.scaling.original_context_length", original_);
    return {};
  }

  // The scaling is there to go beyond what the model was trained on.
  void lengthen(int64_t positions, double factor) {
    const double longer = std::floor(static_cast<double>(positions) * factor);
    if (!(longer > 0 && longer <= kMostPositions)) return;  // refused where factors are bounded
    const int64_t now = std::get<int64_t>(*parameters_.find("context_length"));
    parameters_.set("context_length", std::max(now, static_cast<int64_t>(longer)));
  }

  Result<void> read_dynamic(int64_t positions) {
    O3_TRY(require("factor"));
    O3_ASSIGN(const auto factor, scaling_.real("factor"));
    parameters_.set("rope.scaling.original_context_length", positions);
    lengthen(positions, *factor);
    return {};
  }

  Result<void> read_llama3() {
    O3_TRY(require("factor"));
    O3_TRY(real("low_freq_factor", "rope.scaling.low_freq_factor"));
    return real("high_freq_factor", "rope.scaling.high_freq_factor");
  }

  Result<void> read_yarn(int64_t positions) {
    O3_ASSIGN(auto factor, scaling_.real("factor"));
    if (!factor && original_ > 0) {
      factor = static_cast<double>(positions) / static_cast<double>(original_);
      parameters_.set("rope.scaling.factor", *factor);
    }
    if (!factor) return require("factor");
    for (const char* name : {"beta_fast", "beta_slow"}) {
      O3_ASSIGN(const auto beta, scaling_.real(name));
      const std::string gguf = std::string("rope.scaling.yarn_") + name;
      parameters_.call(gguf, scaling_.label(name));
      if (beta.value_or(0.0) != 0.0) parameters_.set(gguf, *beta);
    }
    O3_ASSIGN(const auto truncate, scaling_.flag("truncate"));
    if (truncate) parameters_.set("rope.scaling.yarn_truncate", *truncate);
    // GGUF's factor comes on top of the usual one.
    O3_ASSIGN(const double attention, yarn_attention(scaling_, *factor));
    parameters_.call("rope.scaling.attn_factor", scaling_.label("attention_factor"));
    parameters_.set("rope.scaling.attn_factor", attention / kernels::yarn_magnitude(*factor));
    lengthen(original_, *factor);
    return {};
  }

  const HfFields& config_;
  const HfFields& scaling_;
  HyperParameters& parameters_;
  int64_t original_ = 0;
};

Result<void> read_partial(const HfFields& config, const RopeFields& rope,
                          HyperParameters& parameters) {
  O3_ASSIGN(auto part, config.real("partial_rotary_factor"));
  if (rope.scaling) {
    O3_ASSIGN(const auto inside, rope.scaling->real("partial_rotary_factor"));
    if (inside) part = inside;
  }
  if (part.value_or(1.0) == 1.0) return {};
  const std::string label = config.label("partial_rotary_factor");
  const HyperValue* head_dim = parameters.find("attention.key_length");
  if (head_dim == nullptr || !(*part > 0.0 && *part < 1.0)) {
    return unsupported(label + " other than 1 needs head_dim and must be between 0 and 1", label);
  }
  const auto width = static_cast<double>(std::get<int64_t>(*head_dim));
  parameters.set("rope.dimension_count", static_cast<int64_t>(width * *part));
  return {};
}

// Windowed layers of Gemma 3.
Result<void> read_local(const HfFields& config, HyperParameters& parameters) {
  O3_ASSIGN(auto base, config.real("rope_local_base_freq"));
  O3_ASSIGN(const auto all, config.fields("rope_parameters"));
  if (all) {
    O3_ASSIGN(const auto local, all->fields("sliding_attention"));
    if (local) {
      O3_ASSIGN(const std::string type, rope_type(*local));
      if (type != "default") {
        return unsupported(
            local->label("rope_type") + " is \"" + printable(type) + "\"; \"default\" would work",
            local->label("rope_type"));
      }
      O3_ASSIGN(const auto inside, local->real("rope_theta"));
      if (inside) base = inside;
    }
  }
  if (base) parameters.set("rope.freq_base_swa", *base);
  return {};
}

}  // namespace

Result<void> read_hf_rope(const HfFields& config, const HfFamily& family,
                          HyperParameters& parameters) {
  const bool gemma = family.architecture == "gemma3";
  O3_ASSIGN(const RopeFields rope, gather(config, gemma ? "full_attention" : nullptr));
  O3_TRY(read_partial(config, rope, parameters));
  parameters.set("rope.freq_base", rope.base.value_or(family.rope_base));
  if (rope.scaling) O3_TRY(RopeTranslator(config, *rope.scaling, parameters).run());
  return gemma ? read_local(config, parameters) : Result<void>{};
}

}  // namespace o3::model
