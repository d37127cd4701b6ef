// SPDX-License-Identifier: Apache-2.0
// config.json of GGUF files, where it is not obvious; whole conversions are eval's tests.
#include <gtest/gtest.h>

#include <string>

#include "model/hf/convert.h"
#include "model/hf/hf_config.h"
#include "model/testing/test_gguf.h"

namespace o3::model {
namespace {

Result<nlohmann::ordered_json> json_of(const std::shared_ptr<const artifact::GgufFile>& file) {
  O3_ASSIGN(const ModelSource source, open_source(file));
  O3_ASSIGN(const ModelConfig config, read_config(source));
  return hf_config_json(source, config);
}

// transformers refuses a Gemma 3 without a window even where no layer has one.
TEST(ConvertConfig, GemmaThatSeesEverything) {
  TestGguf gguf = TestGguf::open(golden_path("tiny_gemma3.gguf"));
  gguf.metadata["gemma3.attention.sliding_window"] = 0U;
  const auto json = json_of(gguf.build());
  ASSERT_TRUE(json.ok()) << json.error().message;
  EXPECT_EQ((*json)["sliding_window"], 4096);
  EXPECT_EQ((*json)["layer_types"],
            nlohmann::ordered_json(std::vector<std::string>(7, "full_attention")));
  const auto back = read_hf_config(nlohmann::json::parse(json->dump()), "test");
  ASSERT_TRUE(back.ok()) << back.error().message;
}

TEST(ConvertConfig, PartOfAHeadIsRefused) {
  TestGguf gguf = TestGguf::open(golden_path("tiny_llama.gguf"));
  gguf.metadata["llama.rope.dimension_count"] = 8U;
  const auto json = json_of(gguf.build());
  ASSERT_FALSE(json.ok());
  EXPECT_EQ(json.error().code, Code::kUnsupported);
  EXPECT_EQ(json.error().param, "llama.rope.dimension_count");
}

// What a conversion to GGUF keeps of a scaling comes back as it was, however few pairs a head has
// to tell it from.
TEST(ConvertConfig, Llama3ScalingComesBack) {
  for (const int head_dim : {4, 8, 64}) {
    nlohmann::json config = {{"model_type", "llama"},  {"vocab_size", 8},
                             {"hidden_size", 8},       {"intermediate_size", 8},
                             {"num_hidden_layers", 1}, {"num_attention_heads", 2},
                             {"head_dim", head_dim},   {"max_position_embeddings", 131072},
                             {"rope_theta", 500000.0}, {"rms_norm_eps", 1e-5}};
    const nlohmann::json scaling = {{"rope_type", "llama3"},
                                    {"factor", 1.7},
                                    {"low_freq_factor", 1.3},
                                    {"high_freq_factor", 4.1},
                                    {"original_max_position_embeddings", 8192}};
    config["rope_scaling"] = scaling;
    auto read = read_hf_config(config, "test");
    ASSERT_TRUE(read.ok()) << read.error().message;
    artifact::GgufWriter writer;
    const std::vector<std::byte> embedding(8 * 8 * 4);
    const std::vector<int64_t> shape{8, 8};
    writer.add_tensor("token_embd.weight", device::DType::kF32, shape, embedding);
    const std::vector<std::byte> without = writer.build();
    const auto bare = artifact::GgufFile::parse(without, "bare");
    ASSERT_TRUE(bare.ok());
    const auto checkpoint = std::make_shared<const GgufCheckpoint>(
        std::shared_ptr<const artifact::GgufFile>(&*bare, [](const artifact::GgufFile*) {}));
    const ModelSource source{std::move(read->parameters), checkpoint, 0};
    const auto parsed = read_config(source);
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    kernels::RopeParams plain = parsed->rope;
    plain.scaling = {};
    const auto slow = kernels::rope_frequencies(parsed->rope, 0);
    const auto fast = kernels::rope_frequencies(plain, 0);
    std::vector<float> divisors;
    for (size_t i = 0; i < slow.size(); ++i) {
      divisors.push_back(static_cast<float>(fast[i] / slow[i]));
    }
    const std::vector<int64_t> pairs{static_cast<int64_t>(divisors.size())};
    writer.add_tensor("rope_freqs.weight", device::DType::kF32, pairs,
                      std::as_bytes(std::span(divisors)));
    add_gguf_settings(source, *parsed, writer);
    const std::vector<std::byte> bytes = writer.build();
    auto file = artifact::GgufFile::parse(bytes, "test.gguf");
    ASSERT_TRUE(file.ok()) << file.error().message;
    const auto json = json_of(std::make_shared<const artifact::GgufFile>(*std::move(file)));
    ASSERT_TRUE(json.ok()) << json.error().message;
    EXPECT_EQ(nlohmann::json::parse((*json)["rope_scaling"].dump()), scaling) << head_dim;
  }
}

}  // namespace
}  // namespace o3::model
