// SPDX-License-Identifier: Apache-2.0
// The engine over the default model: real prompts alone and together.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/testing/model_file.h"
#include "device/cpu/cpu_backend.h"
#include "engine/testing/batch_comparison.h"
#include "model/load_model.h"

namespace o3::engine {
namespace {

constexpr size_t kPrompts = 8;

class DefaultModel : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::filesystem::path path = o3::testing::model_file();
    if (!std::filesystem::exists(path)) {
      GTEST_SKIP() << path << " is not there; ./dev fetches it, or set O3_MODEL_DIR";
    }
    auto file = artifact::GgufFile::open(path);
    ASSERT_TRUE(file.ok()) << file.error().message;
    backend_ = *device::cpu::CpuBackend::create({.isa = device::cpu::best_isa()});
    auto model = model::load_model(std::make_shared<const artifact::GgufFile>(*std::move(file)),
                                   *backend_, {});
    ASSERT_TRUE(model.ok()) << model.error().message;
    const std::shared_ptr<const model::Model> shared(*std::move(model));
    const auto compute = kernels::Compute::kFast;
    alone_ = test_instance(*backend_, shared, compute, clock_, 4096, false);
    instance_ = test_instance(*backend_, shared, compute, clock_);
  }

  std::unique_ptr<device::cpu::CpuBackend> backend_;
  ManualClock clock_;
  std::unique_ptr<ModelInstance> alone_;  // shares no prefixes
  std::unique_ptr<ModelInstance> instance_;
};

TEST_F(DefaultModel, TokensDoNotDependOnTheBatch) {
  std::ifstream file(O3_SOURCE_DIR "/tests/golden/greedy_llama_cpp.json");
  const auto golden = nlohmann::json::parse(file);
  std::vector<Ask> asks(kPrompts);
  for (size_t i = 0; i < kPrompts; ++i) {
    // From the end of the list, where the prompts are longest.
    const auto& prompts = golden.at("prompts");
    asks[i].id = i + 1;
    asks[i].prompt = prompts[prompts.size() - 1 - i].at("prompt_ids").get<std::vector<Token>>();
    asks[i].max_new_tokens = 32;
    asks[i].stop_tokens = {golden.at("eos").get<Token>()};
    if (i % 4 == 0) {
      asks[i].sampling = {.temperature = 0.8F, .top_k = 50, .top_p = 0.95F, .seed = i};
    }
  }
  const Answers alone = answer_alone(*alone_, asks);
  ASSERT_EQ(alone.size(), kPrompts);
  EXPECT_EQ(answer_together(*instance_, clock_, asks, 3), alone);
  EXPECT_EQ(answer_together(*instance_, clock_, asks, 4), alone);
  EXPECT_GT(instance_->stats().cached_tokens, 0);
}

}  // namespace
}  // namespace o3::engine
