// SPDX-License-Identifier: Apache-2.0
// For tests: a model whose logits are a plain function of (token, position), and which can make a
// clock move.
#pragma once

#include <array>
#include <vector>

#include "base/clock.h"
#include "model/model.h"

namespace o3::eval {

class FakeModel final : public model::HostModel {
 public:
  static constexpr int32_t kVocabulary = 50;

  FakeModel() {
    config_.context = 64;
    config_.vocabulary = kVocabulary;
    config_.layers = 1;
  }

  static float logit(Token token, int32_t position, int32_t id) {
    return static_cast<float>((token * 7 + position * 3 + id * id * 5) % 23) / 4.0F;
  }

  const model::ModelConfig& config() const noexcept override { return config_; }
  std::span<const cache::CacheSpec> cache_specs() const noexcept override { return specs_; }
  int64_t weight_bytes() const noexcept override { return 1000; }
  int64_t workspace_bytes(int64_t rows, int64_t /*logit_rows*/) const override { return rows * 64; }

  Result<void> forward(const model::BatchView& batch, const model::KvView& /*kv*/,
                       kernels::TensorView logits, kernels::ExecCtx& /*ctx*/) const override {
    steps.push_back({batch.tokens.begin(), batch.tokens.end()});
    for (size_t row = 0; row < batch.logit_rows.size(); ++row) {
      const auto from = static_cast<size_t>(batch.logit_rows[row]);
      for (int32_t id = 0; id < kVocabulary; ++id) {
        logits.row<float>(static_cast<int64_t>(row))[id] =
            logit(batch.tokens[from], batch.positions[from][0], id);
      }
    }
    clock.advance(std::chrono::milliseconds(batch.tokens.size()));
    return {};
  }

  mutable std::vector<std::vector<Token>> steps;  // the tokens of each forward()
  mutable ManualClock clock;                      // 1 ms per row

 private:
  model::ModelConfig config_;
  std::array<cache::CacheSpec, 1> specs_{cache::CacheSpec{.kv_heads = 1, .head_dim = 4}};
};

}  // namespace o3::eval
