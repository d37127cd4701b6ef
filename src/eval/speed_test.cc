// SPDX-License-Identifier: Apache-2.0
// The fake model takes 1 ms per row, so every figure is known.
#include "eval/speed.h"

#include <gtest/gtest.h>

#include "device/cpu/cpu_backend.h"
#include "eval/testing/fake_model.h"

namespace o3::eval {
namespace {

class Speed : public testing::Test {
 protected:
  void SetUp() override { backend_ = *device::cpu::CpuBackend::create({.threads = 1}); }

  Result<SpeedResult> measure(const SpeedOptions& options) {
    return measure_speed(model_, *backend_, model_.clock, options, {});
  }

  FakeModel model_;
  std::unique_ptr<device::cpu::CpuBackend> backend_;
};

TEST_F(Speed, OneStream) {
  const auto result = measure({.prefill = 32, .decode = 8, .repeats = 3});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_NEAR(result->prefill_tokens_per_s, 1000.0, 1e-6);
  EXPECT_NEAR(result->decode_tokens_per_s, 1000.0, 1e-6);
  EXPECT_NEAR(result->decode_step_s, 0.001, 1e-9);
  // 1000 bytes of weights; K and V of one head of 4 F16 values, 33 to 40 tokens.
  EXPECT_EQ(result->step_bytes, 1000 + 2 * 4 * 2 * 73 / 2);
  EXPECT_NEAR(result->read_gb_per_s, static_cast<double>(result->step_bytes) / 1e6, 1e-9);
  // One more of each to warm up.
  EXPECT_EQ(model_.steps.size(), 4U + 4U * 8U);
}

TEST_F(Speed, BatchAndContext) {
  const auto result =
      measure({.prefill = 16, .decode = 4, .batch = 3, .context = 40, .repeats = 2});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_NEAR(result->prefill_tokens_per_s, 1000.0, 1e-6);
  EXPECT_NEAR(result->decode_step_s, 0.003, 1e-9);
  EXPECT_NEAR(result->decode_tokens_per_s, 1000.0, 1e-6);
  EXPECT_EQ(model_.steps.back().size(), 3U);
}

TEST_F(Speed, BadOptionsAreNamed) {
  EXPECT_EQ(measure({.prefill = 0}).error().param, "prefill");
  EXPECT_EQ(measure({.decode = 0}).error().param, "decode");
  EXPECT_EQ(measure({.batch = 0}).error().param, "batch");
  EXPECT_EQ(measure({.context = -1}).error().param, "context");
  EXPECT_EQ(measure({.prefill = 60, .decode = 5}).error().code, Code::kTooLong);
}

TEST_F(Speed, CanBeInterrupted) {
  int steps = 0;
  const auto result = measure_speed(model_, *backend_, model_.clock, {.prefill = 8, .decode = 2},
                                    [&] { return ++steps < 4; });
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kCancelled);
}

TEST_F(Speed, JsonHasTheAgreedFields) {
  const SpeedOptions options{.prefill = 8, .decode = 2};
  const auto result = measure(options);
  ASSERT_TRUE(result.ok());
  const auto json =
      to_json({.threads = 2, .isa = "avx2", .kv = "f16", .model_bytes = 7}, options, *result);
  for (const char* field : {"prefill_tokens_per_s", "decode_tokens_per_s", "batch", "threads",
                            "isa", "model_bytes", "read_gb_per_s"}) {
    EXPECT_TRUE(json.contains(field)) << field;
  }
  EXPECT_EQ(json["context"], 8);
}

}  // namespace
}  // namespace o3::eval
