// SPDX-License-Identifier: Apache-2.0
// What config.json says about RoPE, as transformers 5 understands it (modeling_rope_utils.py).
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "base/printable.h"
#include "kernels/rope.h"
#include "model/hf/hf_config.h"

namespace o3::model {
namespace {

using nlohmann::json;

constexpr double kMostPositions = 1 << 24;

// What transformers 5 makes of a file: one object for each kind of layer, gathered from where a
// file may keep its members.
struct LayerRope {
  json members = json::object();
  std::string path;       // stands before their names in messages
  double base = 0.0;      // where the members have none
  bool by_layer = false;  // one of several in rope_parameters
  HfFields fields() const { return HfFields(members, path); }
};

constexpr const char* kFull = "full_attention";
constexpr const char* kSliding = "sliding_attention";

// rope_scaling, the older member, takes the place of rope_parameters as a whole.
Result<LayerRope> gather(const HfFields& config, const HfFamily& family) {
  LayerRope rope;
  for (const char* name : {"rope_scaling", "rope_parameters"}) {
    O3_ASSIGN(const auto fields, config.fields(name));
    if (!fields || fields->object().empty()) continue;
    rope.members = fields->object();
    rope.path = config.label(name) + ".";
    break;
  }
  if (rope.members.contains(kFull) || rope.members.contains(kSliding)) {
    return unsupported(rope.path + kFull + " and its like are known for Gemma 3 only",
                       config.label("rope_parameters"));
  }
  O3_ASSIGN(const auto beside, config.real("rope_theta"));
  rope.base = beside.value_or(family.rope_base);
  return rope;
}

// Gemma 3: rope_parameters by kind of layer; members of rope_scaling go over those of the layers
// that see everything.
Result<LayerRope> gather_layer(const HfFields& config, const char* layer, const char* base_name,
                               double base) {
  LayerRope rope{.members = {{"rope_type", "default"}}, .path = {}, .base = 0.0, .by_layer = true};
  O3_ASSIGN(const auto beside, config.real(base_name));
  rope.base = beside.value_or(base);
  rope.path = config.label("rope_parameters") + "." + layer + ".";
  O3_ASSIGN(const auto all, config.fields("rope_parameters"));
  if (all) {
    O3_ASSIGN(const auto own, all->fields(layer));
    if (own) rope.members = own->object();
  }
  if (layer != std::string_view(kFull)) return rope;
  O3_ASSIGN(const auto scaling, config.fields("rope_scaling"));
  if (!scaling) return rope;
  if (all && all->find(kFull) == nullptr) {
    return invalid(config.label("rope_scaling") + " beside rope_parameters without " + kFull +
                       "; one of the two would work",
                   config.label("rope_scaling"));
  }
  rope.members.update(scaling->object());
  if (!scaling->object().empty()) rope.path = config.label("rope_scaling") + ".";
  return rope;
}

Result<double> base_of(const LayerRope& rope) {
  O3_ASSIGN(const auto inside, rope.fields().real("rope_theta"));
  return inside.value_or(rope.base);
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
  RopeTranslator(const HfFields& config, const LayerRope& rope, HyperParameters& parameters)
      : config_(config),
        scaling_(rope.fields()),
        by_layer_(rope.by_layer),
        parameters_(parameters) {}

  Result<void> run() {
    O3_ASSIGN(const std::string type, rope_type(scaling_));
    parameters_.call("rope.scaling.type", scaling_.label("rope_type"));
    parameters_.set("rope.scaling.type", type == "default" ? "none" : type);
    if (type == "default") return {};
    O3_TRY(refuse_partial());
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
    if (!factor && scaling_.contains("factor") && original_ > 0) {
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
    // transformers looks for it where a file that goes by kind of layer cannot have it.
    if (truncate && !by_layer_) parameters_.set("rope.scaling.yarn_truncate", *truncate);
    // GGUF's factor comes on top of the usual one.
    O3_ASSIGN(const double attention, yarn_attention(scaling_, *factor));
    parameters_.call("rope.scaling.attn_factor", scaling_.label("attention_factor"));
    parameters_.set("rope.scaling.attn_factor", attention / kernels::yarn_magnitude(*factor));
    lengthen(original_, *factor);
    return {};
  }

  // Without a scaling these families rotate whole heads whatever the member says; with one,
  // transformers makes frequencies for a part, and cannot apply them.
  Result<void> refuse_partial() const {
    constexpr const char* kName = "partial_rotary_factor";
    for (const HfFields& place : {scaling_, config_}) {
      O3_ASSIGN(const auto part, place.real(kName));
      if (!part) continue;
      if (*part == 1.0) return {};
      return unsupported(place.label(kName) + " other than 1 with a scaling of RoPE, which " +
                             "transformers does not run either",
                         place.label(kName));
    }
    return {};
  }

  const HfFields config_;
  const HfFields scaling_;
  const bool by_layer_;
  HyperParameters& parameters_;
  int64_t original_ = 0;
};

// The layers that see everything.
Result<void> read_full(const HfFields& config, const LayerRope& rope, HyperParameters& parameters) {
  O3_ASSIGN(const double base, base_of(rope));
  parameters.set("rope.freq_base", base);
  return RopeTranslator(config, rope, parameters).run();
}

// Windowed layers of Gemma 3.
Result<void> read_local(const HfFields& config, HyperParameters& parameters) {
  constexpr double kBase = 10000.0;
  O3_ASSIGN(const LayerRope rope, gather_layer(config, kSliding, "rope_local_base_freq", kBase));
  O3_ASSIGN(const std::string type, rope_type(rope.fields()));
  if (type != "default") {
    const std::string label = rope.fields().label("rope_type");
    return unsupported(label + " is \"" + printable(type) + "\"; \"default\" would work", label);
  }
  O3_ASSIGN(const double base, base_of(rope));
  parameters.set("rope.freq_base_swa", base);
  return {};
}

}  // namespace

Result<void> read_hf_rope(const HfFields& config, const HfFamily& family,
                          HyperParameters& parameters) {
  if (family.architecture != "gemma3") {
    O3_ASSIGN(const LayerRope rope, gather(config, family));
    return read_full(config, rope, parameters);
  }
  O3_ASSIGN(const LayerRope rope, gather_layer(config, kFull, "rope_theta", family.rope_base));
  O3_TRY(read_full(config, rope, parameters));
  return read_local(config, parameters);
}

}  // namespace o3::model
