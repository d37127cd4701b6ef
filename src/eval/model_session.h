// SPDX-License-Identifier: Apache-2.0
// A model over KV pages of its own, without the engine: for evaluation and measurement, where a
// fixed set of sequences is stepped by hand.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "cache/block_pool.h"
#include "device/backend.h"
#include "kernels/exec.h"
#include "model/model.h"

namespace o3::eval {

// Everything is allocated for these bounds at creation, nothing later.
struct SessionLimits {
  int32_t sequences = 1;
  int32_t context = 0;      // most tokens in one sequence
  int32_t step_rows = 512;  // most tokens in one step, over all sequences
  int32_t step_logits = 1;  // most rows with logits in one step
  int32_t page_tokens = 32;
};

// The new tokens of one sequence in one step.
struct Feed {
  int32_t sequence = 0;
  std::span<const Token> tokens;
};

// One thread. The model and the backend must outlive it.
class ModelSession {
 public:
  // kTooLong when the model's context is smaller; kExhausted when the memory is not there.
  static Result<std::unique_ptr<ModelSession>> create(const model::Model& model,
                                                      device::Backend& backend,
                                                      kernels::Compute compute,
                                                      const SessionLimits& limits);

  // Appends the tokens and gives the logits (F32, [logit_rows.size(), vocabulary], valid until the
  // next step) of the given rows of the batch, counted over the feeds in order, ascending.
  // kInvalid: a token outside the vocabulary, a sequence fed twice. kTooLong: a limit exceeded.
  Result<kernels::TensorView> step(std::span<const Feed> feeds,
                                   std::span<const int32_t> logit_rows);
  // The same when the tokens of the largest logits are enough; empty where the runner does not look
  // for them, and the logits are there.
  Result<model::StepOutput> step_for_best(std::span<const Feed> feeds,
                                          std::span<const int32_t> logit_rows);

  // Forgets what came after the first `length` tokens.
  void truncate(int32_t sequence, int32_t length);
  int32_t length(int32_t sequence) const { return lengths_.at(static_cast<size_t>(sequence)); }
  const SessionLimits& limits() const noexcept { return limits_; }

 private:
  ModelSession(const model::Model& model, device::Backend& backend, kernels::Compute compute,
               const SessionLimits& limits)
      : model_(model), backend_(backend), compute_(compute), limits_(limits) {}

  Result<void> allocate();
  Result<void> check(std::span<const Feed> feeds, std::span<const int32_t> logit_rows) const;
  void gather(std::span<const Feed> feeds);
  Result<model::StepOutput> run(std::span<const Feed> feeds, std::span<const int32_t> logit_rows,
                                std::span<const uint8_t> best_is_enough);

  const model::Model& model_;
  device::Backend& backend_;
  kernels::Compute compute_;
  SessionLimits limits_;
  std::unique_ptr<cache::BlockPool> pool_;
  std::vector<std::vector<cache::BlockLease>> leases_;  // [group][sequence], whole context each
  std::vector<int32_t> lengths_;                        // [sequence]
  std::unique_ptr<model::StepRunner> runner_;
  // The batch of the current step.
  std::vector<Token> tokens_;
  std::vector<kernels::Position> positions_;
  std::vector<std::vector<kernels::AttnSequence>> sequences_;  // [group][feed]
};

}  // namespace o3::eval
