// SPDX-License-Identifier: Apache-2.0
// The families on a GPU, against the logits of Hugging Face transformers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "device/cuda/cuda_backend.h"
#include "eval/model_session.h"
#include "eval/testing/golden.h"
#include "model/synthetic.h"

namespace o3::eval {
namespace {

using device::DType;
using model::TestGguf;

// Activations, keys and values are 16-bit numbers: 2^-11 each, amplified by softmax and norms.
constexpr double kTolerance = 1e-2;

const std::string kModels[] = {"tiny_linear", "tiny_dynamic", "tiny_llama3",
                               "tiny_yarn",   "tiny_mistral", "tiny_qwen2",
                               "tiny_qwen3",  "tiny_gemma3",  "tiny_gemma3_caps"};

class CudaFamilies : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto backend = device::cuda::CudaBackend::create({});
    if (!backend.ok()) GTEST_SKIP() << backend.error().message;
    backend_ = *std::move(backend);
    golden_ = read_golden(GetParam() + ".json");
    model_ = load(TestGguf::open(model::golden_path(GetParam() + ".gguf")).build(), *backend_,
                  kernels::Compute::kFast, DType::kF16);
  }

  std::unique_ptr<device::cuda::CudaBackend> backend_;
  nlohmann::json golden_;
  std::unique_ptr<model::Model> model_;
};

TEST_P(CudaFamilies, MatchesTransformers) {
  for (const int32_t chunk : {512, 7}) {
    const double distance = golden_distance(*model_, *backend_, golden_, {.chunk = chunk});
    std::printf("measured: %s, chunks of %d: relative L2 distance %.5f\n", GetParam().c_str(),
                chunk, distance);
    EXPECT_LE(distance, kTolerance);
  }
}

// Row by row, in batches of 1 to 3 sequences: the graphs of decode steps, made and replayed.
TEST_P(CudaFamilies, DecodingMatchesTransformers) {
  const nlohmann::json& test = golden_.at("cases").back();
  const auto ids = test.at("ids").get<std::vector<Token>>();
  const auto rows = test.at("rows").get<std::vector<int32_t>>();
  const auto expected = test.at("logits").get<std::vector<std::vector<double>>>();
  for (const int32_t sequences : {1, 3}) {
    SessionLimits limits;
    limits.sequences = sequences;
    limits.context = static_cast<int32_t>(ids.size());
    limits.step_rows = limits.step_logits = sequences;
    const auto session = ModelSession::create(*model_, *backend_, kernels::Compute::kFast, limits);
    ASSERT_TRUE(session.ok()) << session.error().message;
    Distance distance;
    size_t next = 0;
    for (size_t at = 0; at < ids.size(); ++at) {
      std::vector<Feed> feeds;
      std::vector<int32_t> wanted;
      for (int32_t s = 0; s < sequences; ++s) {
        feeds.push_back({.sequence = s, .tokens = {&ids[at], 1}});
        wanted.push_back(s);
      }
      const auto logits = (*session)->step(feeds, wanted);
      ASSERT_TRUE(logits.ok()) << logits.error().message;
      if (next == rows.size() || rows[next] != static_cast<int32_t>(at)) continue;
      for (int32_t s = 0; s < sequences; ++s) {
        for (size_t id = 0; id < expected[next].size(); ++id) {
          distance.add(double{logits->row<float>(s)[id]}, expected[next][id]);
        }
      }
      ++next;
    }
    EXPECT_LE(distance.relative(), kTolerance);
  }
}

TEST_P(CudaFamilies, TheBestIsThatOfTheLogits) {
  SessionLimits limits;
  limits.context = 40;
  limits.step_rows = limits.step_logits = 8;
  const auto session = ModelSession::create(*model_, *backend_, kernels::Compute::kFast, limits);
  ASSERT_TRUE(session.ok());
  const std::vector<Token> tokens{1, 5, 2, 7, 3, 3, 9, 4};
  const std::vector<int32_t> rows{0, 3, 7};
  const Feed feed{.sequence = 0, .tokens = tokens};
  const auto logits = (*session)->step({&feed, 1}, rows);
  ASSERT_TRUE(logits.ok());
  std::vector<Token> largest;
  for (int64_t row = 0; row < 3; ++row) {
    const float* values = logits->row<const float>(row);
    largest.push_back(
        static_cast<Token>(std::max_element(values, values + logits->cols()) - values));
  }
  (*session)->truncate(0, 0);
  const auto best = (*session)->step_for_best({&feed, 1}, rows);
  ASSERT_TRUE(best.ok());
  EXPECT_EQ(std::vector<Token>(best->best.begin(), best->best.end()), largest);
}

INSTANTIATE_TEST_SUITE_P(Each, CudaFamilies, testing::ValuesIn(kModels),
                         [](const testing::TestParamInfo<std::string>& test) {
                           return test.param;
                         });

// Logits of the last of `ids`, decoded one by one in `sequences` equal sequences.
std::vector<float> decoded(const model::Model& model, device::Backend& backend,
                           kernels::Compute compute, std::span<const Token> ids,
                           int32_t sequences) {
  SessionLimits limits;
  limits.sequences = sequences;
  limits.context = static_cast<int32_t>(ids.size());
  limits.step_rows = limits.step_logits = sequences;
  const auto session = ModelSession::create(model, backend, compute, limits);
  O3_CHECK(session.ok(), "a small session");
  std::vector<float> last;
  for (const Token& id : ids) {
    std::vector<Feed> feeds;
    std::vector<int32_t> wanted;
    for (int32_t s = 0; s < sequences; ++s) {
      feeds.push_back({.sequence = s, .tokens = {&id, 1}});
      wanted.push_back(s);
    }
    const auto logits = (*session)->step(feeds, wanted);
    O3_CHECK(logits.ok(), "a step in range");
    last.assign(logits->row<float>(0), logits->row<float>(0) + sequences * logits->cols());
  }
  return last;
}

// Heads for the tensor core, more than one split of the cache, beside the CPU.
TEST(CudaSynthetic, DecodingMatchesTheCpu) {
  auto gpu = device::cuda::CudaBackend::create({});
  if (!gpu.ok()) GTEST_SKIP() << gpu.error().message;
  const std::string path = testing::TempDir() + "/small.gguf";
  std::vector<Token> ids;
  for (int32_t i = 0; i < 300; ++i) ids.push_back(i * 37 % 500);
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    ASSERT_TRUE(model::write_synthetic("small", {.matrices = dtype, .head = dtype}, path).ok());
    auto file = artifact::GgufFile::open(path);
    ASSERT_TRUE(file.ok());
    const auto shared = std::make_shared<const artifact::GgufFile>(*std::move(file));
    const auto cpu = cpu_backend(device::cpu::best_isa());
    const auto on_cpu = load(shared, *cpu, kernels::Compute::kF32, DType::kF32);
    const auto on_gpu = load(shared, **gpu, kernels::Compute::kFast, DType::kF16);
    const std::vector<float> expected = decoded(*on_cpu, *cpu, kernels::Compute::kF32, ids, 1);
    for (const int32_t sequences : {1, 3, 8, 11}) {
      const std::vector<float> found =
          decoded(*on_gpu, **gpu, kernels::Compute::kFast, ids, sequences);
      Distance distance;
      for (size_t i = 0; i < found.size(); ++i) {
        distance.add(double{found[i]}, double{expected[i % expected.size()]});
      }
      std::printf("measured: small %s, %d sequences: relative L2 distance %.5f\n",
                  std::string(device::traits(dtype).name).c_str(), sequences, distance.relative());
      EXPECT_LE(distance.relative(), kTolerance);
    }
  }
  std::remove(path.c_str());
}

}  // namespace
}  // namespace o3::eval
