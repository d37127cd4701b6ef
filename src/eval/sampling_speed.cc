// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <vector>

#include "engine/logit_edits.h"
#include "engine/philox.h"
#include "engine/sampler.h"
#include "eval/speed.h"

namespace o3::eval {
namespace {

constexpr int kRuns = 51;
constexpr uint32_t kSeenTokens = 1000;
constexpr Token kBiased = 100;

// A few likely tokens and a long tail, as models give them.
std::vector<float> peaked_row(int32_t vocabulary) {
  std::vector<float> row(static_cast<size_t>(vocabulary));
  for (uint32_t i = 0; i < row.size(); ++i) {
    const double u = engine::unit_interval(engine::philox4x32({i, 0, 0, 0}, {1, 2}));
    row[i] = static_cast<float>(u < 1e-4 ? 12.0 + 4e4 * u : 8.0 * u - 6.0);
  }
  return row;
}

// Median time of `work` on a fresh copy of the row, which is made outside the time.
double time_of(const Clock& clock, const std::vector<float>& row,
               const std::function<void(std::vector<float>&, uint32_t)>& work) {
  std::vector<double> times;
  std::vector<float> logits;
  for (uint32_t run = 0; run < kRuns; ++run) {
    logits = row;
    const Nanoseconds began = clock.monotonic();
    work(logits, run);
    times.push_back(std::chrono::duration<double>(clock.monotonic() - began).count());
  }
  std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
  return times[kRuns / 2];
}

}  // namespace

SamplingSpeed measure_sampling(int32_t vocabulary, const Clock& clock) {
  const std::vector<float> row = peaked_row(vocabulary);
  engine::Sampler sampler(vocabulary);
  const auto sampling = [&](const engine::SamplingParams& params) {
    return time_of(clock, row, [&](std::vector<float>& logits, uint32_t position) {
      (void)sampler.sample(logits, params, {}, position).ok();
    });
  };
  engine::SamplingParams greedy;
  greedy.temperature = 0.0F;
  engine::SamplingParams truncated;
  truncated.top_k = 50;
  truncated.top_p = 0.95F;
  engine::SamplingParams nucleus;
  nucleus.top_p = 0.95F;
  nucleus.min_p = 0.05F;
  engine::SamplingParams edited = nucleus;
  edited.repetition_penalty = 1.1F;
  edited.frequency_penalty = 0.5F;
  engine::TokenHistory history;
  for (uint32_t i = 0; i < kSeenTokens; ++i) {
    history.add_sampled(static_cast<Token>(i * 7919 % static_cast<uint32_t>(vocabulary)));
  }
  for (Token token = 0; token < std::min(kBiased, vocabulary); ++token) {
    edited.bias.push_back({token, 0.5F});
  }
  std::vector<float> copy;
  return {.copy_s = time_of(clock, row, [&](auto& logits, uint32_t) { copy = logits; }),
          .greedy_s = sampling(greedy),
          .plain_s = sampling({}),
          .truncated_s = sampling(truncated),
          .nucleus_s = sampling(nucleus),
          .edited_s = time_of(clock, row, [&](std::vector<float>& logits, uint32_t position) {
            engine::apply_penalties(logits, history, edited);
            engine::apply_bias(logits, edited.bias);
            (void)sampler.sample(logits, edited, {}, position).ok();
          })};
}

}  // namespace o3::eval
