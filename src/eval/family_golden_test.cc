// SPDX-License-Identifier: Apache-2.0
// Every family against logits that Hugging Face transformers gave for the same tiny checkpoint
// (tools/golden/make_tiny_families.py), and mistakes that this comparison must notice.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <tuple>

#include "eval/model_session.h"
#include "eval/testing/golden.h"

namespace o3::eval {
namespace {

using device::DType;
using device::cpu::Isa;
using kernels::Compute;
using model::TestGguf;

// The reference itself computes angles, norms and softmax in FP32.
constexpr double kF32Tolerance = 1e-4;
// Weights are F16, so the fast path rounds activations at most to 16 bits and the cache to F16:
// 2^-11 each, amplified by softmax and norms of small rows.
constexpr double kFastTolerance = 5e-3;

const std::string kModels[] = {"tiny_linear", "tiny_dynamic", "tiny_llama3",
                               "tiny_yarn",   "tiny_mistral", "tiny_qwen2",
                               "tiny_qwen3",  "tiny_gemma3",  "tiny_gemma3_caps"};

TestGguf open(const std::string& name) {
  return TestGguf::open(model::golden_path(name + ".gguf"));
}

class Families : public testing::TestWithParam<std::tuple<std::string, Isa>> {
 protected:
  void SetUp() override {
    file_ = open(std::get<0>(GetParam())).build();
    golden_ = read_golden(std::get<0>(GetParam()) + ".json");
    backend_ = cpu_backend(std::get<1>(GetParam()));
  }

  std::shared_ptr<const artifact::GgufFile> file_;
  nlohmann::json golden_;
  std::unique_ptr<device::cpu::CpuBackend> backend_;
};

TEST_P(Families, Fp32MatchesTransformers) {
  const auto model = load(file_, *backend_, Compute::kF32, DType::kF32);
  const double distance = golden_distance(*model, *backend_, golden_, {.compute = Compute::kF32});
  RecordProperty("distance", std::to_string(distance));
  EXPECT_LE(distance, kF32Tolerance);
}

TEST_P(Families, FastIsClose) {
  const auto model = load(file_, *backend_, Compute::kFast, DType::kF16);
  const double distance = golden_distance(*model, *backend_, golden_, {.compute = Compute::kFast});
  RecordProperty("distance", std::to_string(distance));
  EXPECT_LE(distance, kFastTolerance);
}

TEST_P(Families, ChunkedPrefillGivesTheSameBits) {
  const auto ids = golden_["cases"].back()["ids"].get<std::vector<Token>>();
  const std::vector<int32_t> rows{0, 18, 40, 97, 99};
  const auto model = load(file_, *backend_, Compute::kFast, DType::kF16);
  const auto whole = sequence_logits(*model, *backend_, ids, rows, {});
  ASSERT_TRUE(whole.ok());
  for (const int32_t chunk : {1, 33}) {
    const auto cut = sequence_logits(*model, *backend_, ids, rows, {.chunk = chunk});
    ASSERT_TRUE(cut.ok());
    EXPECT_TRUE(*cut == *whole) << "chunks of " << chunk;
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, Families,
                         testing::Combine(testing::ValuesIn(kModels),
                                          testing::ValuesIn(device::cpu::available_isas())),
                         [](const testing::TestParamInfo<Families::ParamType>& test) {
                           return std::get<0>(test.param) + "_" +
                                  std::string(device::cpu::isa_name(std::get<1>(test.param)));
                         });

// A mistake made in the file instead of in the code has to move the logits well beyond the
// tolerance.
struct Fault {
  const char* name;
  const char* model;
  std::function<void(TestGguf&)> plant;
};

std::function<void(TestGguf&)> set(const char* key, TestGguf::Value value) {
  return [key, value](TestGguf& gguf) { gguf.metadata[key] = value; };
}
std::function<void(TestGguf&)> erase(const char* key) {
  return [key](TestGguf& gguf) { gguf.metadata.erase(key); };
}

void add_to(model::TestTensor& tensor, float value) {
  for (size_t at = 0; at < tensor.data.size(); at += sizeof(float)) {
    float element = 0;
    std::memcpy(&element, tensor.data.data() + at, sizeof element);
    element += value;
    std::memcpy(tensor.data.data() + at, &element, sizeof element);
  }
}

// Rows of pairs (2i, 2i + 1) in the order (i, i + dim/2): the permutation left out.
void unpermute(model::TestTensor& matrix, int64_t head_dim) {
  const std::vector<std::byte> old = matrix.data;
  const auto bytes = static_cast<int64_t>(old.size()) / matrix.shape[0];
  for (int64_t row = 0; row < matrix.shape[0]; ++row) {
    const int64_t in_head = row % head_dim;
    const int64_t to = row - in_head + (in_head % 2) * (head_dim / 2) + in_head / 2;
    std::memcpy(matrix.data.data() + to * bytes, old.data() + row * bytes,
                static_cast<size_t>(bytes));
  }
}

const Fault kFaults[] = {
    {"rope_base", "tiny_qwen3", set("qwen3.rope.freq_base", 1200.0F)},
    {"rope_base_of_global_layers", "tiny_gemma3", set("gemma3.rope.freq_base", 10000.0F)},
    {"rope_base_of_local_layers", "tiny_gemma3", set("gemma3.rope.freq_base_swa", 100000.0F)},
    {"epsilon", "tiny_qwen2", set("qwen2.attention.layer_norm_rms_epsilon", 2e-4F)},
    {"attention_scale", "tiny_gemma3_caps", erase("gemma3.attention.scale")},
    {"attention_scale_of_one", "tiny_qwen3", set("qwen3.attention.scale", 1.0F)},
    {"permutation", "tiny_mistral",
     [](TestGguf& gguf) {
       for (const char* layer : {"blk.0.", "blk.1."}) {
         unpermute(gguf.tensors.at(std::string(layer) + "attn_q.weight"), 16);
         unpermute(gguf.tensors.at(std::string(layer) + "attn_k.weight"), 16);
       }
     }},
    {"no_window", "tiny_mistral", set("llama.attention.sliding_window", 0U)},
    {"window_by_one", "tiny_mistral", set("llama.attention.sliding_window", 18U)},
    {"window_by_one_in_gemma", "tiny_gemma3", set("gemma3.attention.sliding_window", 11U)},
    {"window_pattern", "tiny_gemma3", set("gemma3.attention.sliding_window_pattern", 5U)},
    {"soft_cap_of_scores", "tiny_gemma3_caps", set("gemma3.attn_logit_softcapping", 0.0F)},
    {"soft_cap_of_logits", "tiny_gemma3_caps", set("gemma3.final_logit_softcapping", 0.0F)},
    {"norm_offset_added_twice", "tiny_gemma3",
     [](TestGguf& gguf) { add_to(gguf.tensors.at("blk.3.post_ffw_norm.weight"), 1.0F); }},
    {"norm_offset_left_out", "tiny_gemma3",
     [](TestGguf& gguf) { add_to(gguf.tensors.at("blk.0.attn_norm.weight"), -1.0F); }},
    {"head_norms_swapped", "tiny_qwen3",
     [](TestGguf& gguf) {
       std::swap(gguf.tensors.at("blk.0.attn_q_norm.weight"),
                 gguf.tensors.at("blk.1.attn_q_norm.weight"));
     }},
    {"bias_left_out", "tiny_qwen2",
     [](TestGguf& gguf) {
       auto& bias = gguf.tensors.at("blk.0.attn_k.bias");
       std::fill(bias.data.begin(), bias.data.end(), std::byte{0});
     }},
    {"linear_factor", "tiny_linear", set("llama.rope.scaling.factor", 4.2F)},
    {"rope_base_of_local_layers_scaled", "tiny_gemma3", set("gemma3.rope.freq_base_swa", 80000.0F)},
    {"dynamic_factor", "tiny_dynamic", set("llama.rope.scaling.factor", 4.2F)},
    {"dynamic_original_length", "tiny_dynamic",
     set("llama.rope.scaling.original_context_length", 34U)},
    {"yarn_factor", "tiny_yarn", set("llama.rope.scaling.factor", 4.2F)},
    {"yarn_original_length", "tiny_yarn", set("llama.rope.scaling.original_context_length", 128U)},
    {"yarn_magnitude", "tiny_yarn", set("llama.rope.scaling.attn_factor", 0.95F)},
    {"llama3_divisors_left_out", "tiny_llama3",
     [](TestGguf& gguf) { gguf.tensors.erase("rope_freqs.weight"); }},
};

class FamilyFault : public testing::TestWithParam<Fault> {};

TEST_P(FamilyFault, IsNoticed) {
  TestGguf gguf = open(GetParam().model);
  GetParam().plant(gguf);
  const auto backend = cpu_backend(Isa::kGeneric);
  const auto model = load(gguf.build(), *backend, Compute::kF32, DType::kF32);
  const double distance =
      golden_distance(*model, *backend, read_golden(std::string(GetParam().model) + ".json"),
                      {.compute = Compute::kF32});
  RecordProperty("distance", std::to_string(distance));
  EXPECT_GT(distance, 10 * kF32Tolerance);
}

INSTANTIATE_TEST_SUITE_P(Each, FamilyFault, testing::ValuesIn(kFaults),
                         [](const testing::TestParamInfo<Fault>& test) { return test.param.name; });

TEST(FamilyGolden, AttentionIsNeitherFlatNorAPeak) {
  for (const std::string& name : kModels) {
    const nlohmann::json golden = read_golden(name + ".json");
    for (const double entropy : golden.at("entropy").get<std::vector<double>>()) {
      EXPECT_GE(entropy, 0.3) << name;
      EXPECT_LE(entropy, 0.7) << name;
    }
  }
}

TEST(FamilyCache, WindowedLayersSayTheirWindow) {
  const auto backend = cpu_backend(Isa::kGeneric);
  const auto model = load(open("tiny_gemma3").build(), *backend, Compute::kF32, DType::kF16);
  const auto specs = model->cache_specs();
  ASSERT_EQ(specs.size(), 7U);
  for (size_t layer = 0; layer < specs.size(); ++layer) {
    EXPECT_EQ(specs[layer].window, layer == 5 ? 0 : 12) << layer;
    EXPECT_EQ(specs[layer].kind,
              layer == 5 ? cache::CacheKind::kFull : cache::CacheKind::kSlidingWindow);
  }
}

}  // namespace
}  // namespace o3::eval
