// SPDX-License-Identifier: Apache-2.0
#include "eval/perplexity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "device/cpu/cpu_backend.h"
#include "eval/model_session.h"
#include "eval/testing/fake_model.h"
#include "eval/token_loss.h"

namespace o3::eval {
namespace {

// -log softmax, the slow way.
double loss_of(const std::vector<double>& logits, Token target) {
  double sum = 0.0;
  for (const double value : logits) sum += std::exp(value);
  return std::log(sum) - logits[static_cast<size_t>(target)];
}

TEST(TokenLosses, AgreeWithDoublePrecision) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0.0F, 6.0F);
  constexpr int64_t kRows = 5;
  constexpr int64_t kVocabulary = 4099;  // not a multiple of any vector length
  std::vector<float> values(kRows * kVocabulary);
  for (float& value : values) value = normal(random) + 40.0F;
  values[7] = -300.0F;  // underflows
  const auto logits = device::matrix_view(values.data(), device::DType::kF32, kRows, kVocabulary);
  const std::vector<Token> targets{0, 7, 4098, 17, 2000};
  std::vector<double> losses(kRows);
  const auto backend = *device::cpu::CpuBackend::create({.threads = 2});
  token_losses(logits, {targets.data(), kRows}, losses, *backend);
  for (int64_t row = 0; row < kRows; ++row) {
    const float* from = logits.row<const float>(row);
    const std::vector<double> exact(from, from + kVocabulary);
    EXPECT_NEAR(losses[static_cast<size_t>(row)], loss_of(exact, targets[static_cast<size_t>(row)]),
                1e-6);
  }
}

// The model is broken then; its losses must say so, or leave the value out, without undefined
// behaviour (which a sanitizer build shows).
TEST(TokenLosses, TakeAnyLogits) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr int64_t kVocabulary = 21;  // more than one round of lanes
  const auto backend = *device::cpu::CpuBackend::create({.threads = 1});
  const auto loss = [&](const std::vector<float>& special, Token target) {
    std::vector<float> values(kVocabulary, 2.0F);
    std::copy(special.begin(), special.end(), values.begin());
    const auto logits = device::matrix_view(values.data(), device::DType::kF32, 1, kVocabulary);
    double result = 0.0;
    token_losses(logits, {&target, 1}, {&result, 1}, *backend);
    return result;
  };
  EXPECT_NEAR(loss({}, 20), std::log(21.0), 1e-6);
  EXPECT_NEAR(loss({kNan, 2.0F, kNan}, 20), std::log(19.0), 1e-6);
  EXPECT_NEAR(loss({-kInf, kNan}, 20), std::log(19.0), 1e-6);
  EXPECT_NEAR(loss({-3e38F, 3e38F}, 1), 0.0, 1e-6);
  EXPECT_FALSE(std::isfinite(loss({kNan}, 0)));
  EXPECT_FALSE(std::isfinite(loss({-kInf}, 0)));
  EXPECT_FALSE(std::isfinite(loss({kInf}, 20)));
  EXPECT_FALSE(std::isfinite(loss(std::vector<float>(kVocabulary, kNan), 20)));
  EXPECT_FALSE(std::isfinite(loss(std::vector<float>(kVocabulary, -kInf), 20)));
}

class Perplexity : public testing::Test {
 protected:
  void SetUp() override {
    backend_ = *device::cpu::CpuBackend::create({.threads = 1});
    for (int32_t i = 0; i < 61; ++i) tokens_.push_back((i * i + 3 * i) % FakeModel::kVocabulary);
  }

  Result<PerplexityResult> run(const PerplexityOptions& options,
                               std::optional<Token> bos = std::nullopt) {
    return perplexity(model_, *backend_, tokens_, bos, options, {});
  }

  // The definition, written out.
  PerplexityResult expected(const PerplexityOptions& options, std::optional<Token> bos) const {
    PerplexityResult result;
    double total = 0.0;
    for (size_t start = 0; start + static_cast<size_t>(options.window) <= tokens_.size();
         start += static_cast<size_t>(options.stride)) {
      ++result.windows;
      for (int32_t position = options.skip; position <= options.window - 2; ++position) {
        const size_t at = start + static_cast<size_t>(position);
        const bool replaced = position == 0 && options.bos == WindowBos::kReplace;
        const Token input = replaced ? *bos : tokens_[at];
        std::vector<double> logits(FakeModel::kVocabulary);
        for (int32_t id = 0; id < FakeModel::kVocabulary; ++id) {
          logits[static_cast<size_t>(id)] = double{FakeModel::logit(input, position, id)};
        }
        total += loss_of(logits, tokens_[at + 1]);
        ++result.scored;
      }
    }
    result.nll = total / static_cast<double>(result.scored);
    return result;
  }

  FakeModel model_;
  std::unique_ptr<device::cpu::CpuBackend> backend_;
  std::vector<Token> tokens_;
};

TEST_F(Perplexity, FollowsTheProtocol) {
  for (const PerplexityOptions& options :
       {PerplexityOptions{.window = 16, .stride = 16, .skip = 8},
        PerplexityOptions{.window = 16, .stride = 5, .skip = 0},
        PerplexityOptions{.window = 16, .stride = 40, .skip = 14},
        PerplexityOptions{.window = 61, .stride = 1, .skip = 30},
        PerplexityOptions{.window = 20, .stride = 7, .skip = 0, .bos = WindowBos::kReplace},
        PerplexityOptions{.window = 2, .stride = 2, .skip = 0}}) {
    const auto found = run(options, 1);
    ASSERT_TRUE(found.ok()) << found.error().message;
    const PerplexityResult right = expected(options, 1);
    EXPECT_EQ(found->tokens, 61);
    EXPECT_EQ(found->windows, right.windows) << options.window;
    EXPECT_EQ(found->scored, right.scored) << options.window;
    EXPECT_NEAR(found->nll, right.nll, 1e-6) << options.window;
    EXPECT_NEAR(found->ppl, std::exp(right.nll), 1e-5);
  }
}

TEST_F(Perplexity, EachWindowStartsEmptyAndItsLastTokenIsOnlyATarget) {
  ASSERT_TRUE(run({.window = 10, .stride = 10, .skip = 5}).ok());
  ASSERT_EQ(model_.steps.size(), 6U);
  EXPECT_EQ(model_.steps[2], std::vector<Token>(tokens_.begin() + 20, tokens_.begin() + 29));
}

TEST_F(Perplexity, StopsAfterTheFirstWindows) {
  const auto two = run({.window = 10, .stride = 10, .skip = 5, .windows = 2});
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(two->windows, 2);
  EXPECT_EQ(two->scored, 8);
  EXPECT_EQ(run({.window = 10, .stride = 10, .skip = 5, .windows = 99})->windows, 6);
}

TEST_F(Perplexity, BadOptionsAreNamed) {
  const auto param = [&](const PerplexityOptions& options) {
    auto result = run(options);
    return result.ok() ? std::string("accepted") : result.error().param;
  };
  EXPECT_EQ(param({.window = 1}), "window");
  EXPECT_EQ(param({.window = 62, .skip = 0}), "window");  // more than the file has
  EXPECT_EQ(param({.window = 16, .stride = 0, .skip = 0}), "stride");
  EXPECT_EQ(param({.window = 16, .skip = 15}), "skip");
  EXPECT_EQ(param({.window = 16, .skip = -1}), "skip");
  EXPECT_EQ(param({.window = 16, .skip = 0, .bos = WindowBos::kReplace}), "bos");
}

TEST_F(Perplexity, WindowBeyondTheContextIsTooLong) {
  tokens_.resize(200, 1);
  auto result = run({.window = 66, .stride = 66, .skip = 0});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kTooLong);
}

TEST_F(Perplexity, TokensOutsideTheVocabularyAreRefused) {
  tokens_[60] = FakeModel::kVocabulary;
  EXPECT_FALSE(run({.window = 16, .stride = 16, .skip = 8}).ok());
}

TEST_F(Perplexity, ProgressCountsWindowsAndStops) {
  std::vector<int64_t> seen;
  const auto result =
      perplexity(model_, *backend_, tokens_, {}, {.window = 16, .stride = 16, .skip = 8},
                 [&](const PerplexityResult& so_far, int64_t windows) {
                   EXPECT_EQ(windows, 3);
                   seen.push_back(so_far.windows);
                   return so_far.windows < 2;
                 });
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kCancelled);
  EXPECT_EQ(seen, (std::vector<int64_t>{1, 2}));
}

TEST_F(Perplexity, JsonHasEveryField) {
  const PerplexityOptions options{.window = 16, .stride = 16, .skip = 8};
  const auto result = run(options);
  ASSERT_TRUE(result.ok());
  const nlohmann::ordered_json json = to_json(options, *result);
  for (const char* field : {"ppl", "nll", "tokens", "scored", "windows", "window", "stride", "skip",
                            "bos", "compute"}) {
    EXPECT_TRUE(json.contains(field)) << field;
  }
  EXPECT_EQ(json["bos"], "none");
  EXPECT_EQ(json["compute"], "fast");
}

TEST_F(Perplexity, SessionRefusesWhatItWasNotMadeFor) {
  auto session = ModelSession::create(model_, *backend_, kernels::Compute::kFast,
                                      {.sequences = 2, .context = 8, .step_rows = 6});
  ASSERT_TRUE(session.ok()) << session.error().message;
  const auto code = [&](std::vector<Feed> feeds, std::vector<int32_t> rows) {
    auto result = (*session)->step(feeds, rows);
    return result.ok() ? Code::kInternal : result.error().code;
  };
  const std::vector<Token> seven(7, 1);
  const std::vector<Token> bad{FakeModel::kVocabulary};
  const std::span<const Token> some(seven.data(), 3);
  EXPECT_EQ(code({{0, seven}}, {}), Code::kTooLong);            // step_rows
  EXPECT_EQ(code({{0, some}}, {0, 1}), Code::kTooLong);         // step_logits
  EXPECT_EQ(code({{0, some}, {0, some}}, {}), Code::kInvalid);  // fed twice
  EXPECT_EQ(code({{2, some}}, {}), Code::kInvalid);             // no such sequence
  EXPECT_EQ(code({{0, bad}}, {}), Code::kInvalid);
  EXPECT_EQ(code({}, {}), Code::kTooLong);
  const std::span<const Token> six(seven.data(), 6);
  ASSERT_TRUE((*session)->step(std::vector<Feed>{{1, six}}, {}).ok());
  EXPECT_EQ((*session)->length(1), 6);
  EXPECT_EQ(code({{1, some}}, {}), Code::kTooLong);  // context
  (*session)->truncate(1, 2);
  EXPECT_EQ(code({{1, some}}, {2}), Code::kInternal);  // accepted
  EXPECT_EQ((*session)->length(1), 5);
}

}  // namespace
}  // namespace o3::eval
