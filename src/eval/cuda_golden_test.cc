// SPDX-License-Identifier: Apache-2.0
// The families on a GPU, against the logits of Hugging Face transformers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>

#include "artifact/gguf/gguf_file.h"
#include "device/cuda/cuda_backend.h"
#include "eval/model_session.h"
#include "eval/testing/golden.h"
#include "kernels/elementwise.h"
#include "model/synthetic.h"

namespace o3::eval {
namespace {

using device::DType;
using model::TestGguf;

// Activations, keys and values are 16-bit numbers: 2^-11 each, amplified by softmax and norms.
constexpr double kTolerance = 1e-2;
constexpr double kFp8Tolerance = 0.6;
// Keys and values with 3 bits of fraction, averaged over a few hundred slots.
constexpr double kFp8KvTolerance = 0.05;

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

// The E4M3 nearest to x, ties to even fractions; |x| is at most 448.
float nearest_e4m3(float x) {
  if (x == 0.0F) return 0.0F;
  const int exponent = std::max(std::ilogb(x), -6);
  return std::ldexp(std::nearbyint(std::ldexp(x, 3 - exponent)), exponent - 3);
}

// The file with its layers' matrices as FP8 weights hold them, widened to F32.
std::shared_ptr<const artifact::GgufFile> rounded_to_fp8(TestGguf gguf) {
  for (auto& [name, tensor] : gguf.tensors) {
    if (tensor.shape.size() != 2 || !name.starts_with("blk.")) continue;
    const int64_t columns = tensor.shape[1];
    const auto row_bytes = static_cast<size_t>(device::row_bytes(tensor.dtype, columns));
    std::vector<std::byte> wide(static_cast<size_t>(tensor.shape[0] * columns) * sizeof(float));
    for (int64_t r = 0; r < tensor.shape[0]; ++r) {
      auto* row = reinterpret_cast<float*>(wide.data()) + r * columns;
      kernels::dequantize_row(tensor.dtype, tensor.data.data() + static_cast<size_t>(r) * row_bytes,
                              row, columns);
      float most = 0.0F;
      for (int64_t c = 0; c < columns; ++c) most = std::max(most, std::fabs(row[c]));
      const float scale = most > 0.0F ? most / 448.0F : 1.0F;
      for (int64_t c = 0; c < columns; ++c) row[c] = scale * nearest_e4m3(row[c] * (1.0F / scale));
    }
    tensor.dtype = DType::kF32;
    tensor.data = std::move(wide);
  }
  return gguf.build();
}

// Few rows at a time meet FP8 weights as 16-bit numbers: the same model as the CPU has it with
// rounded weights, to the tolerance of 16-bit activations. Many rows become E4M3 themselves, up to
// 2^-4 off per number, so these tiny random models end well away from it.
TEST_P(CudaFamilies, Fp8WeightsAreTheRoundedOnes) {
  const TestGguf gguf = TestGguf::open(model::golden_path(GetParam() + ".gguf"));
  const auto cpu = cpu_backend(device::cpu::best_isa());
  const auto on_cpu = load(rounded_to_fp8(gguf), *cpu, kernels::Compute::kF32, DType::kF32);
  const auto on_gpu = load(gguf.build(), *backend_, kernels::Compute::kFast, DType::kF16,
                           model::WeightStorage::kFp8);
  EXPECT_LT(on_gpu->weight_bytes(), model_->weight_bytes());
  const auto ids = golden_.at("cases").back().at("ids").get<std::vector<Token>>();
  const auto logits = [&](const model::Model& model, device::Backend& backend,
                          kernels::Compute compute, size_t chunk) {
    SessionLimits limits;
    limits.context = static_cast<int32_t>(ids.size());
    limits.step_rows = limits.step_logits = static_cast<int32_t>(chunk);
    const auto session = ModelSession::create(model, backend, compute, limits);
    O3_CHECK(session.ok(), "a small session");
    std::vector<float> last;
    for (size_t at = 0; at < ids.size(); at += chunk) {
      const auto tokens = std::span(ids).subspan(at, std::min(chunk, ids.size() - at));
      const Feed feed{.sequence = 0, .tokens = tokens};
      const auto row = static_cast<int32_t>(tokens.size()) - 1;
      const auto step = (*session)->step({&feed, 1}, {&row, 1});
      O3_CHECK(step.ok(), "a step in range");
      last.assign(step->row<float>(0), step->row<float>(0) + step->cols());
    }
    return last;
  };
  const auto expected = logits(*on_cpu, *cpu, kernels::Compute::kF32, 7);
  for (const auto& [chunk, tolerance] :
       {std::pair{size_t{7}, kTolerance}, std::pair{ids.size(), kFp8Tolerance}}) {
    const auto found = logits(*on_gpu, *backend_, kernels::Compute::kFast, chunk);
    Distance distance;
    for (size_t i = 0; i < found.size(); ++i) {
      distance.add(double{found[i]}, double{expected[i]});
    }
    std::printf("measured: %s, FP8 weights, chunks of %zu: relative L2 distance %.5f\n",
                GetParam().c_str(), chunk, distance.relative());
    EXPECT_LE(distance.relative(), tolerance);
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
    const auto small_kv = load(shared, **gpu, kernels::Compute::kFast, DType::kF8_E4M3);
    const std::vector<float> expected = decoded(*on_cpu, *cpu, kernels::Compute::kF32, ids, 1);
    Distance of_small_kv;
    const auto with_small_kv = decoded(*small_kv, **gpu, kernels::Compute::kFast, ids, 2);
    for (size_t i = 0; i < with_small_kv.size(); ++i) {
      of_small_kv.add(double{with_small_kv[i]}, double{expected[i % expected.size()]});
    }
    std::printf("measured: small %s, FP8 KV: relative L2 distance %.5f\n",
                std::string(device::traits(dtype).name).c_str(), of_small_kv.relative());
    EXPECT_LE(of_small_kv.relative(), kFp8KvTolerance);
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
