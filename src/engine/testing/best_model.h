// SPDX-License-Identifier: Apache-2.0
// FakeModel as a device would run it: tells the best of each row, and leaves nothing but NaN where
// that is enough.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "engine/testing/fake_model.h"

namespace o3::engine {

class BestModel final : public model::Model {
 public:
  BestModel(int32_t vocabulary, int32_t context) : inner_(vocabulary, context) {}

  const FakeModel& inner() const { return inner_; }
  const model::ModelConfig& config() const noexcept override { return inner_.config(); }
  std::span<const cache::CacheSpec> cache_specs() const noexcept override {
    return inner_.cache_specs();
  }
  int64_t weight_bytes() const noexcept override { return 0; }
  Result<std::unique_ptr<model::StepRunner>> make_runner(const model::RunnerLimits& limits,
                                                         device::Backend& backend,
                                                         const model::KvView& kv) const override {
    O3_ASSIGN(auto runner, inner_.make_runner(limits, backend, kv));
    return std::unique_ptr<model::StepRunner>(std::make_unique<Runner>(std::move(runner)));
  }

 private:
  class Runner final : public model::StepRunner {
   public:
    explicit Runner(std::unique_ptr<model::StepRunner> inner) : inner_(std::move(inner)) {}
    Result<void> launch(const model::BatchView& batch) override {
      enough_.assign(batch.best_is_enough.begin(), batch.best_is_enough.end());
      return inner_->launch(batch);
    }
    Result<model::StepOutput> collect() override {
      O3_ASSIGN(model::StepOutput output, inner_->collect());
      best_.clear();
      for (size_t row = 0; row < enough_.size(); ++row) {
        float* logits = output.logits.row<float>(static_cast<int64_t>(row));
        float* end = logits + output.logits.cols();
        best_.push_back(static_cast<Token>(std::max_element(logits, end) - logits));
        if (enough_[row] != 0) std::fill(logits, end, std::numeric_limits<float>::quiet_NaN());
      }
      output.best = best_;
      return output;
    }

   private:
    std::unique_ptr<model::StepRunner> inner_;
    std::vector<uint8_t> enough_;
    std::vector<Token> best_;
  };

  FakeModel inner_;
};

}  // namespace o3::engine
