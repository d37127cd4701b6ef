// SPDX-License-Identifier: Apache-2.0
// A model for tests whose next token is a function of the whole prefix, read back through the page
// tables: a wrong table, slot or position changes the tokens.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "model/model.h"

namespace o3::engine {

class FakeModel final : public model::HostModel {
 public:
  // Two layers: two KV groups of different sizes, so that one page holds more tokens of the second.
  FakeModel(int32_t vocabulary, int32_t context) {
    config_.architecture = "fake";
    config_.layers = 2;
    config_.vocabulary = vocabulary;
    config_.context = context;
    specs_ = {{.kv_heads = 1, .head_dim = 16, .dtype = device::DType::kF32},
              {.kv_heads = 1, .head_dim = 4, .dtype = device::DType::kF32}};
  }

  const model::ModelConfig& config() const noexcept override { return config_; }
  std::span<const cache::CacheSpec> cache_specs() const noexcept override { return specs_; }
  int64_t weight_bytes() const noexcept override { return 0; }
  int64_t workspace_bytes(int64_t, int64_t) const override { return 0; }

  Result<void> forward(const model::BatchView& batch, const model::KvView& kv,
                       kernels::TensorView logits, kernels::ExecCtx&) const override {
    if (on_forward) O3_TRY(on_forward(batch));
    int64_t logit_row = 0;
    for (size_t s = 0; s < batch.sequences[0].size(); ++s) {
      const kernels::AttnSequence& share = batch.sequences[0][s];
      for (int32_t i = 0; i < share.rows; ++i) {
        const int32_t row = share.row_begin + i;
        const int32_t slot = share.kv_len - share.rows + i;
        O3_CHECK(batch.positions[static_cast<size_t>(row)][0] == slot,
                 "a position is not the place in the sequence");
        for (size_t g = 0; g < kv.layout->groups.size(); ++g) {
          *slot_of(kv, g, batch.sequences[g][s].table, slot) =
              batch.tokens[static_cast<size_t>(row)];
        }
        if (logit_row == std::ssize(batch.logit_rows) ||
            batch.logit_rows[static_cast<size_t>(logit_row)] != row) {
          continue;
        }
        std::vector<Token> prefix;
        for (int32_t p = 0; p <= slot; ++p) {
          prefix.push_back(
              *slot_of(kv, static_cast<size_t>(p % 2), batch.sequences[p % 2][s].table, p));
        }
        fill_logits(prefix, {logits.row<float>(logit_row++), static_cast<size_t>(logits.cols())});
      }
    }
    O3_CHECK(logit_row == logits.rows(), "a logit row is outside its sequence");
    return {};
  }

  // Pseudo-random in [0, 8), a function of the prefix.
  static void fill_logits(std::span<const Token> prefix, std::span<float> logits) {
    uint64_t hash = 0xcbf29ce484222325;
    for (const Token token : prefix) hash = mix(hash ^ static_cast<uint64_t>(token));
    for (float& logit : logits) {
      hash = mix(hash);
      logit = static_cast<float>(hash >> 40) * 0x1p-21F;
    }
  }

  // What greedy decoding gives.
  std::vector<Token> continuation(std::vector<Token> tokens, int32_t count) const {
    const size_t prompt = tokens.size();
    std::vector<float> logits(static_cast<size_t>(config_.vocabulary));
    for (int32_t i = 0; i < count; ++i) {
      fill_logits(tokens, logits);
      tokens.push_back(
          static_cast<Token>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
    }
    tokens.erase(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(prompt));
    return tokens;
  }

  // Called first in every forward(), on the thread that runs it.
  std::function<Result<void>(const model::BatchView&)> on_forward;

 private:
  static uint64_t mix(uint64_t x) {
    x = (x + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
    return x ^ (x >> 29);
  }
  // The token is kept in the first element of the slot's K vector.
  static Token* slot_of(const model::KvView& kv, size_t group, const uint32_t* table,
                        int32_t slot) {
    const cache::KvGroup& g = kv.layout->groups[group];
    std::byte* page = kv.pool + table[slot / g.page_tokens] * kv.layout->page_bytes;
    const int64_t vector = g.plane_bytes() / g.page_tokens;
    return reinterpret_cast<Token*>(page + g.k_offset(0) + slot % g.page_tokens * vector);
  }

  model::ModelConfig config_;
  std::vector<cache::CacheSpec> specs_;
};

}  // namespace o3::engine
