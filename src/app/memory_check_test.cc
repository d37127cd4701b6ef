// SPDX-License-Identifier: Apache-2.0
#include "app/memory_check.h"

#include <gtest/gtest.h>

namespace o3::app {
namespace {

constexpr int64_t kMiB = 1 << 20;

// 100 MiB of weights, 10 MiB of KV for 1024 tokens, nothing else of weight.
model::Footprint footprint() {
  model::Footprint made;
  made.config.context = 4096;
  made.config.vocabulary = 16;
  made.weight_bytes = 100 * kMiB;
  const cache::CacheSpec spec{.kv_heads = 1, .head_dim = 256, .dtype = device::DType::kF16};
  made.kv.push_back({.spec = spec, .layers = 10, .bytes_per_token = 10 * 1024});
  return made;
}

TEST(MemoryPlan, CountsPagesOfEverySequence) {
  const auto plan = model::plan_memory(footprint(), {.sequences = 3, .context = 1000});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->weights, 100 * kMiB);
  EXPECT_EQ(plan->kv, 3 * 1024 * 10 * 1024) << "whole pages of 32 tokens";
}

TEST(MemoryPlan, TellsWhatWouldFit) {
  const model::PlanQuery query{.sequences = 4, .context = 4096, .step_rows = 1};
  const int64_t fixed = model::plan_memory(footprint(), {.step_rows = 1})->total() -
                        model::plan_memory(footprint(), {.step_rows = 1})->kv;
  const int64_t bytes = fixed + 100 * kMiB;
  EXPECT_EQ(model::most_sequences(footprint(), query, bytes), 2);
  const auto context = model::longest_context(footprint(), query, bytes);
  ASSERT_TRUE(context);
  EXPECT_NEAR(static_cast<double>(*context), 2560, 32);
  EXPECT_FALSE(model::most_sequences(footprint(), query, 50 * kMiB));
  EXPECT_FALSE(model::longest_context(footprint(), query, 50 * kMiB));
  EXPECT_EQ(model::longest_context(footprint(), query, 10'000 * kMiB), 4096);
}

TEST(CheckMemory, RefusesWithWhatWouldFit) {
  const model::PlanQuery query{.sequences = 1, .context = 4096, .step_rows = 1};
  EXPECT_TRUE(check_memory(footprint(), query, 0, 200 * kMiB).ok());
  EXPECT_TRUE(check_memory(footprint(), query, 50 * kMiB, 200 * kMiB).ok());
  EXPECT_TRUE(check_memory(footprint(), query, 1 << 30, std::nullopt).ok());
  const auto weights = check_memory(footprint(), query, 0, 90 * kMiB);
  ASSERT_FALSE(weights.ok());
  EXPECT_EQ(weights.error().code, Code::kExhausted);
  EXPECT_NE(weights.error().message.find("90 MiB of memory are free"), std::string::npos);
  const auto pool = check_memory(footprint(), query, 150 * kMiB, 200 * kMiB);
  ASSERT_FALSE(pool.ok());
  EXPECT_EQ(pool.error().param, "memory");
  EXPECT_NE(pool.error().message.find("99MiB at most"), std::string::npos) << pool.error().message;
}

}  // namespace
}  // namespace o3::app
