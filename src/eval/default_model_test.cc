// SPDX-License-Identifier: Apache-2.0
// The default model against float64 logits of an independent implementation
// (tools/golden/reference_llama.py). Skipped where the model file is not there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>

#include "base/testing/model_file.h"
#include "eval/testing/golden.h"

namespace o3::eval {
namespace {

using device::DType;
using kernels::Compute;

struct Deviation {
  double relative = 0.0;     // L2 over the sampled vocabulary and the best 64
  double log_sum_exp = 0.0;  // largest difference
  int flips = 0;             // rows whose best token differs although the golden gap is wide
};

Deviation deviation(const model::Model& model, device::Backend& backend, Compute compute) {
  const nlohmann::json golden = read_golden("smollm2_logits.json");
  const auto stride = golden.at("stride").get<size_t>();
  Deviation result;
  Distance distance;
  for (const nlohmann::json& test : golden.at("cases")) {
    const auto ids = test.at("ids").get<std::vector<Token>>();
    std::vector<int32_t> rows;
    for (const auto& row : test.at("rows")) rows.push_back(row.at("row"));
    auto logits = sequence_logits(model, backend, ids, rows, {.compute = compute});
    O3_CHECK(logits.ok(), "golden ids are in range");
    for (size_t index = 0; index < rows.size(); ++index) {
      const std::vector<float>& row = (*logits)[index];
      const nlohmann::json& expected = test.at("rows")[index];
      const auto top = expected.at("top").get<std::vector<double>>();
      const auto top_ids = expected.at("top_ids").get<std::vector<size_t>>();
      const auto strided = expected.at("strided").get<std::vector<double>>();
      for (size_t i = 0; i < top.size(); ++i) distance.add(double{row[top_ids[i]]}, top[i]);
      for (size_t i = 0; i < strided.size(); ++i) {
        distance.add(double{row[i * stride]}, strided[i]);
      }
      double sum = 0.0;
      for (const float value : row) sum += std::exp(double{value} - top[0]);
      result.log_sum_exp =
          std::max(result.log_sum_exp,
                   std::abs(top[0] + std::log(sum) - expected.at("log_sum_exp").get<double>()));
      const auto best = std::max_element(row.begin(), row.end()) - row.begin();
      if (static_cast<size_t>(best) != top_ids[0] && top[0] - top[1] > 0.5) ++result.flips;
    }
  }
  result.relative = distance.relative();
  return result;
}

class DefaultModel : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::filesystem::path path = o3::testing::model_file();
    if (!std::filesystem::exists(path)) {
      GTEST_SKIP() << path << " is not there; ./dev fetches it, or set O3_MODEL_DIR";
    }
    auto file = artifact::GgufFile::open(path);
    ASSERT_TRUE(file.ok()) << file.error().message;
    file_ = std::make_shared<const artifact::GgufFile>(*std::move(file));
    backend_ = cpu_backend(device::cpu::best_isa());
  }

  std::shared_ptr<const artifact::GgufFile> file_;
  std::unique_ptr<device::cpu::CpuBackend> backend_;
};

TEST_F(DefaultModel, Fp32MatchesTheReference) {
  const auto model = load(file_, *backend_, Compute::kF32, DType::kF32);
  const Deviation found = deviation(*model, *backend_, Compute::kF32);
  std::cout << "measured: distance of logits " << found.relative << ", of log-sum-exp "
            << found.log_sum_exp << '\n';
  EXPECT_LE(found.relative, 1e-4);
  EXPECT_LE(found.log_sum_exp, 2e-3);
  EXPECT_EQ(found.flips, 0);
}

TEST_F(DefaultModel, FastIsClose) {
  const auto model = load(file_, *backend_, Compute::kFast, DType::kF16);
  const Deviation found = deviation(*model, *backend_, Compute::kFast);
  std::cout << "measured: distance of logits " << found.relative << ", of log-sum-exp "
            << found.log_sum_exp << '\n';
  EXPECT_LE(found.relative,
            1.25 * read_golden("smollm2_logits.json").at("fast_distance").get<double>());
  EXPECT_EQ(found.flips, 0);
}

// The file, minus the pages that were copied, and no more than one packed copy of the weights.
TEST_F(DefaultModel, WeightsAreHeldOnce) {
  const auto model = load(file_, *backend_, Compute::kFast, DType::kF16);
  const auto held = static_cast<double>(backend_->allocated(device::MemTag::kWeights));
  EXPECT_LE(held, 1.1 * static_cast<double>(file_->file_bytes()));
}

}  // namespace
}  // namespace o3::eval
