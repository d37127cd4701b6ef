// SPDX-License-Identifier: Apache-2.0
// What a model, a number of sequences and a context take together, before anything is loaded
// (spec A15).
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "model/footprint.h"

namespace o3::model {

struct PlanQuery {
  int64_t sequences = 1;     // in one step, each of `context` tokens
  int64_t context = 0;       // 0: the model's
  int32_t page_tokens = 32;  // of the KV pool
  int64_t step_rows = 512;   // of the largest step
  int64_t scored_rows = 32;  // rows of logits beside one for each sequence
};

// Bytes.
struct MemoryPlan {
  int64_t weights = 0;    // packed
  int64_t embedding = 0;  // rows that are read from the mapped file: clean pages of the file
  int64_t kv = 0;
  int64_t workspace = 0;
  int64_t logits = 0;

  int64_t total() const noexcept { return weights + embedding + kv + workspace + logits; }
};

// kUnsupported: no kernel serves the model's cache. `query` is within what the model can do.
Result<MemoryPlan> plan_memory(const Footprint& footprint, const PlanQuery& query);

// The most that `bytes` hold, the rest of the query as it is; nothing when not even one fits.
std::optional<int64_t> most_sequences(const Footprint& footprint, PlanQuery query, int64_t bytes);
std::optional<int64_t> longest_context(const Footprint& footprint, PlanQuery query, int64_t bytes);

}  // namespace o3::model
