// SPDX-License-Identifier: Apache-2.0
// Loading: what is bound, and every way a file can be refused.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "device/cpu/cpu_backend.h"
#include "model/load_model.h"
#include "model/testing/test_gguf.h"

namespace o3::model {
namespace {

using device::DType;

class Load : public testing::Test {
 protected:
  void SetUp() override {
    auto backend = device::cpu::CpuBackend::create({.threads = 1});
    ASSERT_TRUE(backend.ok());
    backend_ = *std::move(backend);
  }

  Result<std::unique_ptr<Model>> load(const LoadOptions& options = {}) {
    return load_model(gguf_.build(), *backend_, options);
  }

  static Result<ModelConfig> config_of(const TestGguf& gguf) {
    O3_ASSIGN(const ModelSource source, open_source(gguf.build()));
    return read_config(source);
  }

  // The error of loading the file as it is now.
  Error refusal(const LoadOptions& options = {}) {
    auto model = load(options);
    EXPECT_FALSE(model.ok());
    return model.ok() ? Error{} : model.error();
  }

  std::unique_ptr<device::cpu::CpuBackend> backend_;
  TestGguf gguf_ = TestGguf::open(golden_path("tiny_llama.gguf"));
};

TEST_F(Load, ReadsTheConfiguration) {
  auto model = load();
  ASSERT_TRUE(model.ok()) << model.error().message;
  const ModelConfig& config = (*model)->config();
  EXPECT_EQ(config.architecture, "llama");
  EXPECT_EQ(config.name, "tiny_llama");
  EXPECT_EQ(config.layers, 3);
  EXPECT_EQ(config.hidden, 96);
  EXPECT_EQ(config.heads, 6);
  EXPECT_EQ(config.kv_heads, 2);
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_EQ(config.ffn, 160);
  EXPECT_EQ(config.vocabulary, 160);
  EXPECT_EQ(config.context, 256);
  EXPECT_EQ(config.rope.dim, 16);
  EXPECT_EQ(config.rope.max_positions, 256);
  EXPECT_NEAR(config.rms_eps, 1e-5, 1e-12);
  ASSERT_EQ((*model)->cache_specs().size(), 3U);
  EXPECT_EQ((*model)->cache_specs()[0].kv_heads, 2);
  EXPECT_EQ((*model)->cache_specs()[0].dtype, DType::kF16);
}

TEST_F(Load, CountsTheBytesOfADecodeStep) {
  auto model = load();
  ASSERT_TRUE(model.ok());
  int64_t file_bytes = 0;
  for (const auto& [name, tensor] : gguf_.tensors) {
    file_bytes += static_cast<int64_t>(tensor.data.size());
  }
  // All tensors once, the tied embedding as the output matrix; packing may pad a little.
  EXPECT_GE((*model)->weight_bytes(), file_bytes);
  EXPECT_LE((*model)->weight_bytes(), file_bytes * 11 / 10);
}

TEST_F(Load, WeightsAreTaggedAndFreed) {
  auto model = load();
  ASSERT_TRUE(model.ok());
  EXPECT_GT(backend_->allocated(device::MemTag::kWeights), 0U);
  model->reset();
  EXPECT_EQ(backend_->allocated(device::MemTag::kWeights), 0U);
}

TEST_F(Load, DefaultsOfOptionalKeys) {
  gguf_.metadata.erase("llama.rope.dimension_count");
  gguf_.metadata.erase("llama.rope.freq_base");
  gguf_.metadata.erase("llama.vocab_size");
  auto config = config_of(gguf_);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->rope.dim, config->head_dim);
  EXPECT_EQ(config->rope.base, 10000.0);
  EXPECT_EQ(config->vocabulary, 160);
}

TEST_F(Load, UnknownArchitectureNamesTheKnownOnes) {
  gguf_.metadata["general.architecture"] = std::string("octopus\n");
  const Error error = refusal();
  EXPECT_EQ(error.code, Code::kUnsupported);
  EXPECT_NE(error.message.find("\"octopus\\x0a\""), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("llama"), std::string::npos) << error.message;
  EXPECT_EQ(error.param, "general.architecture");
}

TEST_F(Load, EveryMissingAndMisshapenTensorIsNamed) {
  gguf_.tensors.erase("blk.0.attn_q.weight");
  gguf_.tensors.erase("output_norm.weight");
  gguf_.tensors["blk.2.ffn_up.weight"] = gguf_.tensors["blk.2.ffn_down.weight"];
  const Error error = refusal();
  EXPECT_EQ(error.code, Code::kInvalid);
  for (const char* part : {"blk.0.attn_q.weight is missing", "output_norm.weight is missing",
                           "blk.2.ffn_up.weight has shape [96, 160], expected [160, 96]"}) {
    EXPECT_NE(error.message.find(part), std::string::npos) << part << ": " << error.message;
  }
}

TEST_F(Load, TensorsNobodyAskedForAreRefused) {
  gguf_.tensors["blk.1.attn_q.bias"] = gguf_.tensors["output_norm.weight"];
  gguf_.tensors["blk.1.attn_q_norm.weight"] = gguf_.tensors["output_norm.weight"];
  const Error error = refusal();
  EXPECT_EQ(error.code, Code::kUnsupported);
  EXPECT_NE(error.message.find("blk.1.attn_q.bias"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("blk.1.attn_q_norm.weight"), std::string::npos) << error.message;
}

TEST_F(Load, ALongListOfStrangeNamesStaysShortAndPrintable) {
  for (int i = 0; i < 3000; ++i) {
    const std::string name = "\x1b[2J" + std::string(900, 'x') + std::to_string(i);
    gguf_.tensors[name] = gguf_.tensors["output_norm.weight"];
  }
  const Error error = refusal();
  EXPECT_EQ(error.message.find('\x1b'), std::string::npos);
  EXPECT_LT(error.message.size(), 2000U);
  EXPECT_NE(error.message.find("and 2992 more"), std::string::npos) << error.message;
}

TEST_F(Load, ALongListOfMissingTensorsStaysShort) {
  std::erase_if(gguf_.tensors, [](const auto& row) { return row.first.starts_with("blk."); });
  const Error error = refusal();
  EXPECT_LT(error.message.size(), 2000U) << error.message;
  EXPECT_NE(error.message.find(" more"), std::string::npos) << error.message;
}

TEST_F(Load, NormsAreNotQuantised) {
  TestTensor& norm = gguf_.tensors["blk.1.attn_norm.weight"];
  norm.dtype = DType::kQ8_0;
  norm.data.resize(static_cast<size_t>(norm.shape[0]) / 32 * 34);
  const Error error = refusal();
  EXPECT_EQ(error.code, Code::kInvalid);
  EXPECT_NE(error.message.find("blk.1.attn_norm.weight has type Q8_0"), std::string::npos);
}

TEST_F(Load, TypesWithoutAKernelAreNamed) {
  TestTensor& matrix = gguf_.tensors["blk.1.ffn_up.weight"];
  matrix.dtype = DType::kI32;
  matrix.data.assign(static_cast<size_t>(matrix.shape[0] * matrix.shape[1]) * 4, std::byte{0});
  Error error = refusal();
  EXPECT_EQ(error.code, Code::kUnsupported);
  EXPECT_EQ(error.param, "blk.1");
  EXPECT_NE(error.message.find("I32"), std::string::npos) << error.message;

  gguf_ = TestGguf::open(golden_path("tiny_llama_mixed.gguf"));
  TestTensor& embedding = gguf_.tensors["token_embd.weight"];
  embedding.dtype = DType::kI32;
  embedding.data.resize(static_cast<size_t>(embedding.shape[0] * embedding.shape[1]) * 4);
  error = refusal();
  EXPECT_EQ(error.code, Code::kUnsupported);
  EXPECT_EQ(error.param, "token_embd.weight");
}

TEST_F(Load, KvTypesWithoutAKernelAreRefused) {
  EXPECT_EQ(refusal({.kv_dtype = DType::kQ4_0}).code, Code::kUnsupported);
  EXPECT_EQ(refusal({.kv_dtype = DType::kF8_E4M3}).param, "kv");  // of GPUs only
}

TEST_F(Load, Fp8WeightsNeedAGpu) {
  const Error error = refusal({.weights = WeightStorage::kFp8});
  EXPECT_EQ(error.code, Code::kUnsupported);
  EXPECT_EQ(error.param, "weights");
}

TEST_F(Load, MissingKeysAreNamed) {
  for (const char* key : {"llama.block_count", "llama.context_length", "llama.embedding_length",
                          "llama.feed_forward_length", "llama.attention.head_count",
                          "llama.attention.layer_norm_rms_epsilon"}) {
    TestGguf without = gguf_;
    without.metadata.erase(key);
    auto config = config_of(without);
    ASSERT_FALSE(config.ok()) << key;
    EXPECT_EQ(config.error().param, key);
  }
}

struct BadValue {
  const char* key;
  TestGguf::Value value;
  Code code;
};

class BadConfig : public Load, public testing::WithParamInterface<BadValue> {};

TEST_P(BadConfig, IsRefusedByName) {
  gguf_.metadata[GetParam().key] = GetParam().value;
  const Error error = refusal();
  EXPECT_EQ(error.code, GetParam().code);
  EXPECT_NE((error.message + error.param).find(GetParam().key), std::string::npos) << error.message;
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

INSTANTIATE_TEST_SUITE_P(
    Bounds, BadConfig,
    testing::Values(BadValue{"llama.block_count", 0U, Code::kInvalid},
                    BadValue{"llama.block_count", 1025U, Code::kInvalid},
                    BadValue{"llama.block_count", 4000000000U, Code::kInvalid},
                    BadValue{"llama.block_count", std::string("three"), Code::kInvalid},
                    BadValue{"llama.embedding_length", 0U, Code::kInvalid},
                    BadValue{"llama.embedding_length", 1U << 20U, Code::kInvalid},
                    BadValue{"llama.feed_forward_length", 0U, Code::kInvalid},
                    BadValue{"llama.context_length", 0U, Code::kInvalid},
                    BadValue{"llama.context_length", 1U << 30U, Code::kInvalid},
                    BadValue{"llama.attention.head_count", 0U, Code::kInvalid},
                    BadValue{"llama.attention.head_count", 7U, Code::kInvalid},
                    BadValue{"llama.attention.head_count_kv", 0U, Code::kInvalid},
                    BadValue{"llama.attention.head_count_kv", 4U, Code::kInvalid},
                    BadValue{"llama.attention.head_count_kv", 12U, Code::kInvalid},
                    BadValue{"llama.attention.key_length", 15U, Code::kUnsupported},
                    BadValue{"llama.attention.value_length", 32U, Code::kUnsupported},
                    BadValue{"llama.attention.layer_norm_rms_epsilon", 0.0F, Code::kInvalid},
                    BadValue{"llama.attention.layer_norm_rms_epsilon", kNan, Code::kInvalid},
                    BadValue{"llama.rope.dimension_count", 15U, Code::kInvalid},
                    BadValue{"llama.rope.dimension_count", 18U, Code::kInvalid},
                    BadValue{"llama.rope.freq_base", -1.0F, Code::kInvalid},
                    BadValue{"llama.vocab_size", 161U, Code::kInvalid}));

INSTANTIATE_TEST_SUITE_P(
    Variants, BadConfig,
    testing::Values(BadValue{"llama.expert_count", 8U, Code::kUnsupported},
                    BadValue{"llama.attention.causal", false, Code::kUnsupported},
                    BadValue{"llama.rope.scaling.type", std::string("longrope"),
                             Code::kUnsupported},
                    BadValue{"llama.rope.scaling.factor", 1e6F, Code::kInvalid},
                    BadValue{"llama.rope.scaling.factor", kNan, Code::kInvalid},
                    BadValue{"llama.rope.scaling.factor", 0.0F, Code::kInvalid},
                    BadValue{"llama.rope.scaling.factor", -2.0F, Code::kInvalid},
                    BadValue{"llama.rope.scaling.factor", kInfinity, Code::kInvalid},
                    BadValue{"llama.rope.scaling.factor", 1U, Code::kInvalid},
                    BadValue{"llama.rope.scale_linear", -1.0F, Code::kInvalid},
                    BadValue{"llama.rope.scale_linear", kInfinity, Code::kInvalid},
                    BadValue{"llama.rope.scale_linear", 0.0F, Code::kInvalid},
                    BadValue{"llama.attention.sliding_window", 4000000000U, Code::kInvalid},
                    BadValue{"llama.logit_scale", 0.5F, Code::kUnsupported},
                    BadValue{"llama.attention.scale", -0.5F, Code::kInvalid}));

// Bounds are not so tight that what FP32 makes of a usual value falls outside.
TEST_F(Load, SmallAndLargeEpsilons) {
  for (const float eps : {1e-12F, 1e-8F, 1e-5F, 0.1F}) {
    gguf_.metadata["llama.attention.layer_norm_rms_epsilon"] = eps;
    EXPECT_TRUE(load().ok()) << eps;
  }
  for (const float eps : {0.0F, -1e-5F, 2.0F, kInfinity, kNan}) {
    gguf_.metadata["llama.attention.layer_norm_rms_epsilon"] = eps;
    EXPECT_NE(refusal().message.find("it must be from 1e-20 to 1"), std::string::npos)
        << refusal().message;
  }
}

// Buffers that some library saved beside the weights are nobody's loss.
TEST_F(Load, TensorsThatCannotBeWeightsAreLeftOut) {
  gguf_.tensors["position_ids"] = {DType::kI32, {4}, std::vector<std::byte>(16)};
  gguf_.tensors["nothing"] = {DType::kF32, {0}, {}};
  const auto model = load();
  EXPECT_TRUE(model.ok()) << model.error().message;
}

TEST_F(Load, UnreadTensorsAreRefusedWhereTheyAreNeeded) {
  gguf_.tensors["blk.0.ffn_up.weight"] = {DType::kF32, {0, 96}, {}};
  EXPECT_NE(refusal().message.find("blk.0.ffn_up.weight is empty"), std::string::npos)
      << refusal().message;
  gguf_.tensors["token_embd.weight"] = {DType::kF32, {0, 96}, {}};
  EXPECT_NE(refusal().message.find("token_embd.weight is empty"), std::string::npos)
      << refusal().message;
}

// An output matrix that cannot be read is not the same as none.
TEST_F(Load, AnUnreadHeadIsNotATiedOne) {
  gguf_.tensors["output.weight"] = {DType::kF32, {0, 96}, {}};
  EXPECT_NE(refusal().message.find("output.weight is empty"), std::string::npos)
      << refusal().message;
}

TEST_F(Load, TheLongestContextTakesLittleMemory) {
  gguf_.metadata["llama.context_length"] = 1U << 20U;
  auto model = load();
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ((*model)->config().context, 1 << 20);
}

TEST_F(Load, NeutralVariantKeysAreFine) {
  gguf_.metadata["llama.expert_count"] = 0U;
  gguf_.metadata["llama.rope.scaling.type"] = std::string("none");
  gguf_.metadata["llama.rope.scaling.factor"] = 1.0F;
  EXPECT_TRUE(load().ok());
}

}  // namespace
}  // namespace o3::model
