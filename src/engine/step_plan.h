// SPDX-License-Identifier: Apache-2.0
// What one step will do, as plain data: made by Scheduler::plan(), carried out by commit().
#pragma once

#include <cstdint>
#include <vector>

#include "cache/prefix_index.h"

namespace o3::engine {

struct Sequence;

// One sequence's share of the step: its next `rows` known tokens.
struct SequenceRows {
  Sequence* sequence = nullptr;
  int32_t rows = 0;
  int32_t room = 0;            // tokens it is charged for from this step on
  bool admit = false;          // it waits; commit() makes it run
  cache::PrefixMatch match{};  // with admit: its first tokens, which are in the cache
  bool sample = false;         // the last row's logits give the next token
};

// Valid until the scheduler next changes.
struct StepPlan {
  std::vector<SequenceRows> rows;    // decode rows first, then prefill chunks by class and arrival
  std::vector<Sequence*> expired;    // past their deadline; not in rows
  std::vector<Sequence*> preempted;  // give up their pages and wait again; not in rows
  int32_t total_rows = 0;
  int32_t prefill_rows = 0;  // of those, rows of chunks

  void clear() noexcept {
    rows.clear();
    expired.clear();
    preempted.clear();
    total_rows = prefill_rows = 0;
  }
};

}  // namespace o3::engine
