// SPDX-License-Identifier: Apache-2.0
// RoPE of config.json in every form, against what transformers makes of it
// (tools/golden/rope_configs.py).
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <set>
#include <string>

#include "model/hf/hf_config.h"
#include "model/load_model.h"
#include "model/testing/test_gguf.h"

namespace o3::model {
namespace {

using nlohmann::json;

// transformers computes frequencies in FP32; through logarithms those of YaRN lose a little more.
constexpr double kTolerance = 2e-6;

// transformers loads these. The first two it runs as if the file said nothing of RoPE; the third
// is a form that no published model has.
const std::set<std::string> kRefusedHereOnly = {
    "llama_by_layer",          "llama_by_layer_declared",
    "mistral_by_layer",        "mistral_by_layer_declared",
    "gemma_sliding_stretched",
};

// An embedding of the right size, which is all that a configuration asks for.
class EmbeddingOnly final : public Checkpoint {
 public:
  EmbeddingOnly() {
    view_.rank = 2;
    view_.shape = {64, 32};
  }
  const std::string& name() const noexcept override { return name_; }
  const device::TensorView* find_tensor(std::string_view name) const override {
    return name == "token_embd.weight" ? &view_ : nullptr;
  }
  std::vector<std::string_view> tensor_names() const override { return {"token_embd.weight"}; }
  std::span<const artifact::UnreadTensor> unread() const noexcept override { return {}; }
  std::string source_name(std::string_view name) const override { return std::string(name); }
  Convention convention() const noexcept override { return Convention::kHuggingFace; }
  void release_pages() const noexcept override {}

 private:
  std::string name_ = "test";
  device::TensorView view_;
};

Result<ModelConfig> config_of(const json& config) {
  O3_ASSIGN(HfConfig read, read_hf_config(config, "test"));
  return read_config({std::move(read.parameters), std::make_shared<const EmbeddingOnly>(), 0});
}

void expect_equal(const kernels::RopeParams& rope, const json& golden) {
  const std::vector<double> frequencies = kernels::rope_frequencies(rope, 0);
  const auto wanted = golden["frequencies"].get<std::vector<double>>();
  ASSERT_EQ(frequencies.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(frequencies[i] / wanted[i], 1.0, kTolerance) << i;
  }
  EXPECT_NEAR(rope.scaling.magnitude, golden["magnitude"].get<double>(), 1e-9);
}

TEST(HfRope, EveryFormIsReadAsTransformersReadsIt) {
  std::ifstream file(golden_path("rope_configs.json"));
  const json golden = json::parse(file);
  size_t compared = 0;
  for (const json& test : golden["cases"]) {
    const auto name = test["name"].get<std::string>();
    SCOPED_TRACE(name);
    const auto config = config_of(test["config"]);
    if (test.contains("error") || kRefusedHereOnly.contains(name)) {
      EXPECT_FALSE(config.ok());
      continue;
    }
    EXPECT_TRUE(config.ok()) << config.error().message;
    if (!config.ok()) continue;
    expect_equal(config->rope, test["full"]);
    if (test.contains("sliding")) expect_equal(config->local_rope, test["sliding"]);
    ++compared;
  }
  EXPECT_EQ(compared, 164U);
}

json llama() {
  return {{"model_type", "llama"},  {"vocab_size", 64},
          {"hidden_size", 32},      {"intermediate_size", 48},
          {"num_hidden_layers", 1}, {"num_attention_heads", 2},
          {"rope_theta", 1e4},      {"max_position_embeddings", 4096}};
}

TEST(HfRope, FactorsThatNoScalingHas) {
  for (const char* type : {"linear", "dynamic", "llama3", "yarn"}) {
    for (const json& factor : {json(0), json(0.0), json(-2.0), json(1e9), json(1e300), json("4"),
                               json::array({4.0, 2.0})}) {
      json config = llama();
      config["rope_scaling"] = {{"rope_type", type},
                                {"factor", factor},
                                {"low_freq_factor", 1.0},
                                {"high_freq_factor", 4.0},
                                {"original_max_position_embeddings", 1024}};
      const auto read = config_of(config);
      ASSERT_FALSE(read.ok()) << type << " " << factor;
      EXPECT_NE(read.error().message.find("rope_scaling.factor"), std::string::npos)
          << read.error().message;
    }
  }
}

TEST(HfRope, PartOfAHeadIsRefusedByName) {
  json config = llama();
  config["partial_rotary_factor"] = 0.5;
  config["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 2.0}};
  const auto read = config_of(config);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::kUnsupported);
  EXPECT_EQ(read.error().param, "partial_rotary_factor");
}

}  // namespace
}  // namespace o3::model
