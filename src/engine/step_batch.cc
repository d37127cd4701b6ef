// SPDX-License-Identifier: Apache-2.0
#include "engine/step_batch.h"

#include "engine/sampler.h"
#include "engine/sequence.h"

namespace o3::engine {

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
    if (!share.sample) continue;
    logit_rows_.push_back(row_begin + share.rows - 1);
    const bool enough = sequence.constraint == nullptr && is_greedy(sequence.work().sampling);
    best_is_enough_.push_back(enough ? 1 : 0);
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
