// SPDX-License-Identifier: Apache-2.0
#include "engine/step_batch.h"

#include <algorithm>

#include "engine/logit_edits.h"
#include "engine/sampler.h"
#include "engine/sequence.h"

namespace o3::engine {
namespace {

// Behind the last row of a share whose logits are wanted: the sampled one is its last; scored ones
// end before the row of the prompt's last token.
int32_t logit_end(const Sequence& sequence, const SequenceRows& share) {
  if (share.sample) return share.rows;
  return std::min(share.rows, sequence.prompt_tokens() - 1 - sequence.filled);
}

// Whether the next token is that of the largest logit as the model gives it, and nobody asks for
// more of the row.
bool takes_the_largest(const Sequence& sequence) {
  const Generate& work = sequence.work();
  const SamplingParams& params = work.sampling;
  const bool edited = has_penalties(params) || !params.bias.empty() || !params.bad_words.empty() ||
                      std::ssize(sequence.sampled) < params.min_tokens;
  return is_greedy(params) && !edited && sequence.constraint == nullptr && !work.logprobs;
}

}  // namespace

void StepBatch::build(const StepPlan& plan) {
  tokens_.clear();
  positions_.clear();
  logit_rows_.clear();
  best_is_enough_.clear();
  for (auto& group : sequences_) group.clear();
  for (const SequenceRows& share : plan.rows) {
    const Sequence& sequence = *share.sequence;
    const auto row_begin = static_cast<int32_t>(tokens_.size());
    for (int32_t i = 0; i < share.rows; ++i) {
      const int32_t position = sequence.filled + i;
      tokens_.push_back(sequence.token(position));
      positions_.push_back({position, position, position});
    }
    for (size_t g = 0; g < sequences_.size(); ++g) {
      sequences_[g].push_back({.row_begin = row_begin,
                               .rows = share.rows,
                               .kv_len = sequence.filled + share.rows,
                               .table = sequence.tables[g].ids().data()});
    }
    const int32_t wanted = sequence.scored_rows(share.rows) + (share.sample ? 1 : 0);
    const int32_t end = row_begin + logit_end(sequence, share);
    for (int32_t row = end - wanted; row < end; ++row) logit_rows_.push_back(row);
    // Scored rows are wanted whole.
    if (wanted > 0) best_is_enough_.resize(logit_rows_.size(), 0);
    if (share.sample) best_is_enough_.back() = takes_the_largest(sequence) ? 1 : 0;
  }
  for (size_t g = 0; g < sequences_.size(); ++g) group_spans_[g] = sequences_[g];
}

model::BatchView StepBatch::view() const noexcept {
  return {.tokens = tokens_,
          .positions = positions_,
          .sequences = group_spans_,
          .logit_rows = logit_rows_,
          .best_is_enough = best_is_enough_};
}

}  // namespace o3::engine
