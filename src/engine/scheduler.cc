// SPDX-License-Identifier: Apache-2.0
#include "engine/scheduler.h"

#include <algorithm>
#include <utility>

namespace o3::engine {
namespace {

bool past_deadline(const Sequence& sequence, Nanoseconds now) {
  const auto& deadline = sequence.request->deadline;
  return deadline && *deadline <= now;
}

size_t class_of(const Sequence& sequence) {
  return static_cast<size_t>(sequence.request->request_class);
}

}  // namespace

Scheduler::Scheduler(const SchedulerLimits& limits, cache::BlockPool& pool)
    : limits_(limits), pool_(pool) {
  O3_CHECK(limits.max_running >= 1 && limits.max_step_rows >= limits.max_running,
           "a step has a row for every running sequence");
  running_.reserve(static_cast<size_t>(limits.max_running));
}

Sequence& Scheduler::enqueue(std::unique_ptr<Sequence> sequence) {
  Sequence& added = *sequence;
  added.arrival = arrivals_++;
  O3_CHECK(bound_pages(added) <= pool_.total_blocks(), "what can never fit is refused at submit");
  const bool fresh = sequences_.try_emplace(added.request->id, std::move(sequence)).second;
  O3_CHECK(fresh, "two live sequences with one id");
  waiting_[class_of(added)].push_back(&added);
  ++waiting_count_;
  return added;
}

void Scheduler::retire(RequestId id, Outcome outcome, std::optional<Error> error) {
  const auto found = sequences_.find(id);
  if (found != sequences_.end()) retire(*found->second, outcome, std::move(error));
}

void Scheduler::retire(Sequence& sequence, Outcome outcome, std::optional<Error> error) {
  if (sequence.retiring) return;
  sequence.retiring = true;
  sequence.outcome = outcome;
  sequence.error = std::move(error);
  retiring_.push_back(&sequence);
}

void Scheduler::retire_all(Outcome outcome, const std::optional<Error>& error) {
  for (Sequence* sequence : running_) retire(*sequence, outcome, error);
  for (const auto& queue : waiting_) {
    for (Sequence* sequence : queue) retire(*sequence, outcome, error);
  }
}

int64_t Scheduler::bound_pages(const Sequence& sequence) const {
  // The last sampled token is never computed, so it takes no slot.
  return cache::pages_for(pool_.layout(),
                          int64_t{sequence.prompt_tokens()} + sequence.work().max_new_tokens - 1);
}

int32_t Scheduler::prefill_budget(int32_t decode_rows) const {
  const int32_t room = limits_.max_step_rows - decode_rows;
  if (decode_rows == 0) return room;
  const int32_t within = cost_.rows_within(limits_.step_time_target) - decode_rows;
  return std::min(std::max(within, limits_.min_prefill_rows), room);
}

void Scheduler::add_rows(StepPlan& plan, Sequence& sequence, int32_t rows, bool admit) const {
  O3_DCHECK(sequence.inflight == 0, "a sequence is planned while a step holds it");
  plan.rows.push_back(SequenceRows{
      .sequence = &sequence, .rows = rows, .admit = admit, .sample = rows == sequence.pending()});
  plan.total_rows += rows;
}

void Scheduler::plan(Nanoseconds now, StepPlan& plan) const {
  plan.clear();
  for (Sequence* sequence : running_) {
    if (sequence->retiring) continue;
    if (past_deadline(*sequence, now)) {
      plan.expired.push_back(sequence);
    } else if (sequence->decoding()) {
      add_rows(plan, *sequence, 1, false);
    }
  }
  int32_t budget = prefill_budget(plan.total_rows);
  const auto chunk = [&](Sequence& sequence, bool admit) {
    const int32_t rows = std::min(budget, sequence.pending());
    add_rows(plan, sequence, rows, admit);
    plan.prefill_rows += rows;
    budget -= rows;
  };
  // Pages and places of expired sequences are free only after this step's commit, for the next.
  int64_t uncharged = pool_.total_blocks() - charged_;
  int32_t places = limits_.max_running - running();
  bool admitting = true;
  for (size_t c = 0; c < kClasses; ++c) {
    for (Sequence* sequence : running_) {
      if (budget == 0) break;
      if (class_of(*sequence) != c || sequence->retiring || sequence->decoding()) continue;
      if (!past_deadline(*sequence, now)) chunk(*sequence, false);
    }
    for (Sequence* sequence : waiting_[c]) {
      if (sequence->retiring) continue;
      if (past_deadline(*sequence, now)) {
        plan.expired.push_back(sequence);
        continue;
      }
      // Nobody passes the first that does not fit, or a large one would wait for ever.
      admitting = admitting && budget > 0 && places > 0 && bound_pages(*sequence) <= uncharged;
      if (!admitting) continue;
      uncharged -= bound_pages(*sequence);
      --places;
      chunk(*sequence, true);
    }
  }
}

void Scheduler::admit(Sequence& sequence) {
  auto& queue = waiting_[class_of(sequence)];
  // All before it in its class were admitted or are retiring, so this is near the front.
  queue.erase(std::find(queue.begin(), queue.end(), &sequence));
  --waiting_count_;
  sequence.running = true;
  sequence.charge = bound_pages(sequence);
  charged_ += sequence.charge;
  O3_CHECK(charged_ <= pool_.total_blocks(), "more pages promised than there are");
  O3_CHECK(running() < limits_.max_running, "more sequences run than may");
  running_.push_back(&sequence);
  // Room for the ids of the whole bound, so that decoding never grows them.
  const int64_t slots = int64_t{sequence.prompt_tokens()} + sequence.work().max_new_tokens - 1;
  sequence.tables.resize(pool_.layout().groups.size());
  for (size_t g = 0; g < sequence.tables.size(); ++g) {
    const int32_t page_tokens = pool_.layout().groups[g].page_tokens;
    sequence.tables[g].reserve(static_cast<size_t>((slots + page_tokens - 1) / page_tokens));
  }
}

// Leases what the tables lack to hold `tokens` tokens.
void Scheduler::lease_for(Sequence& sequence, int32_t tokens) {
  for (size_t g = 0; g < sequence.tables.size(); ++g) {
    const int32_t page_tokens = pool_.layout().groups[g].page_tokens;
    const auto pages = static_cast<uint32_t>((int64_t{tokens} + page_tokens - 1) / page_tokens);
    const auto held = static_cast<uint32_t>(sequence.tables[g].size());
    if (pages <= held) continue;
    const auto leased = pool_.extend(sequence.tables[g], pages - held);
    O3_CHECK(leased.ok(), "the charge covers every page a running sequence needs");
    usage_.leased += int64_t{pages - held} * page_tokens;
  }
}

void Scheduler::commit(const StepPlan& plan) {
  for (Sequence* sequence : plan.expired) {
    retire(*sequence, Outcome::kDeadline,
           Error{Code::kDeadline, "the request's deadline passed before it was finished", {}});
  }
  for (const SequenceRows& share : plan.rows) {
    Sequence& sequence = *share.sequence;
    if (share.admit) admit(sequence);
    lease_for(sequence, sequence.filled + share.rows);
    ++sequence.inflight;
  }
}

void Scheduler::complete(const StepPlan& plan, Nanoseconds took) {
  for (const SequenceRows& share : plan.rows) {
    Sequence& sequence = *share.sequence;
    --sequence.inflight;
    sequence.filled += share.rows;
    usage_.written += int64_t{share.rows} * static_cast<int64_t>(sequence.tables.size());
  }
  cost_.observe(plan.total_rows, took);
}

void Scheduler::release(Sequence& sequence) {
  if (!sequence.running) {
    auto& queue = waiting_[class_of(sequence)];
    queue.erase(std::find(queue.begin(), queue.end(), &sequence));
    --waiting_count_;
    return;
  }
  std::erase(running_, &sequence);
  charged_ -= sequence.charge;
  for (size_t g = 0; g < sequence.tables.size(); ++g) {
    const int32_t page_tokens = pool_.layout().groups[g].page_tokens;
    usage_.leased -= static_cast<int64_t>(sequence.tables[g].size()) * page_tokens;
    usage_.written -= sequence.filled;
  }
  sequence.tables.clear();
}

void Scheduler::reap(std::vector<std::unique_ptr<Sequence>>& released) {
  const auto ready = std::stable_partition(retiring_.begin(), retiring_.end(),
                                           [](const Sequence* s) { return s->inflight > 0; });
  for (auto it = ready; it != retiring_.end(); ++it) {
    release(**it);
    auto node = sequences_.extract((*it)->request->id);
    released.push_back(std::move(node.mapped()));
  }
  retiring_.erase(ready, retiring_.end());
}

}  // namespace o3::engine
