// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/step_plan.h"
#include "model/model.h"

namespace o3::engine {

// A committed plan as the model wants it: plain arrays, which could as well be sent to other ranks.
// Keeps its memory from step to step. Points into the page tables of the plan's sequences, so it
// is valid while they are in flight.
class StepBatch {
 public:
  explicit StepBatch(size_t groups) : sequences_(groups), group_spans_(groups) {}

  // Called between commit() and complete().
  void build(const StepPlan& plan);
  model::BatchView view() const noexcept;

 private:
  std::vector<Token> tokens_;
  std::vector<kernels::Position> positions_;
  std::vector<std::vector<kernels::AttnSequence>> sequences_;  // [group][sequence]
  std::vector<std::span<const kernels::AttnSequence>> group_spans_;
  std::vector<int32_t> logit_rows_;
  std::vector<uint8_t> best_is_enough_;  // [logit row]
};

}  // namespace o3::engine
