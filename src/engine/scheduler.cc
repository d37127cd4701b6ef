// SPDX-License-Identifier: Apache-2.0
#include "engine/scheduler.h"

#include <algorithm>
#include <unordered_set>
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

// The order in which sequences are served: by class, then by arrival.
bool goes_before(const Sequence* a, const Sequence* b) {
  return std::pair(class_of(*a), a->arrival) < std::pair(class_of(*b), b->arrival);
}

// The most slots it can ever take: the last sampled token is never computed.
int32_t bound_of(const Sequence& sequence) {
  return sequence.prompt_tokens() + sequence.work().max_new_tokens - 1;
}

void add_rows(StepPlan& plan, Sequence& sequence, int32_t rows, int32_t room,
              const cache::PrefixMatch& match = {}) {
  O3_DCHECK(sequence.inflight == 0, "a sequence is planned while a step holds it");
  plan.rows.push_back(SequenceRows{.sequence = &sequence,
                                   .rows = rows,
                                   .room = room,
                                   .admit = !sequence.running,
                                   .match = match,
                                   .sample = rows == sequence.pending() - match.tokens});
  plan.total_rows += rows;
}

}  // namespace

Scheduler::Scheduler(const SchedulerLimits& limits, cache::BlockPool& pool)
    : limits_(limits), pages_(pool, limits.share_prefixes) {
  O3_CHECK(limits.max_running >= 1 && limits.max_step_rows >= limits.max_running,
           "a step has a row for every running sequence");
  running_.reserve(static_cast<size_t>(limits.max_running));
}

Sequence& Scheduler::enqueue(std::unique_ptr<Sequence> sequence) {
  Sequence& added = *sequence;
  added.arrival = arrivals_++;
  O3_CHECK(pages_.pages_of(bound_of(added)) <= pages_.total(),
           "what can never fit is refused at submit");
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

int32_t Scheduler::wanted_room(const Sequence& sequence) const {
  const int64_t wanted = int64_t{sequence.length()} + limits_.headroom_tokens;
  return static_cast<int32_t>(std::min<int64_t>(wanted, bound_of(sequence)));
}

int32_t Scheduler::prefill_budget(int32_t decode_rows) const {
  const int32_t room = limits_.max_step_rows - decode_rows;
  if (decode_rows == 0) return room;
  const int32_t within = cost_.rows_within(limits_.step_time_target) - decode_rows;
  return std::min(std::max(within, limits_.min_prefill_rows), room);
}

// Those that run on, in the order of service.
std::vector<Sequence*> Scheduler::live_running(Nanoseconds now, StepPlan& plan) const {
  std::vector<Sequence*> order;
  order.reserve(running_.size());
  for (Sequence* sequence : running_) {
    if (sequence->retiring) continue;
    (past_deadline(*sequence, now) ? plan.expired : order).push_back(sequence);
  }
  std::sort(order.begin(), order.end(), goes_before);
  return order;
}

// Pages of all others are back before this plan takes any; their places are free in the next.
Scheduler::Room Scheduler::room_beside(const std::vector<Sequence*>& order) const {
  Room room{.pages = pages_.total() - pages_.pinned(), .pins = pages_.forecast()};
  const std::unordered_set<const Sequence*> stays(order.begin(), order.end());
  for (const Sequence* sequence : running_) {
    if (stays.contains(sequence)) {
      room.pages -= sequence->charge;
    } else {
      room.pages += room.pins.unpin(sequence->prefix);
    }
  }
  return room;
}

// Tokens that `sequence`, of the order, may be charged for so that its next one has a slot. What
// lacks is taken from the end of the order, at last from the sequence itself: 0 then.
int32_t Scheduler::make_room(std::vector<Sequence*>& order, const Sequence& sequence, Room& room,
                             StepPlan& plan) const {
  if (sequence.length() <= sequence.room) return sequence.room;
  const auto lacks = [&](int32_t tokens) {
    return pages_.own_pages_of(sequence, tokens) - sequence.charge - room.pages;
  };
  while (lacks(sequence.length()) > 0) {
    Sequence* last = order.back();
    order.pop_back();
    plan.preempted.push_back(last);
    room.pages += last->charge + room.pins.unpin(last->prefix);
    if (last == &sequence) return 0;
  }
  const int32_t wanted = wanted_room(sequence);
  const int32_t tokens = lacks(wanted) > 0 ? sequence.length() : wanted;
  room.pages -= pages_.own_pages_of(sequence, tokens) - sequence.charge;
  return tokens;
}

void Scheduler::plan_decodes(std::vector<Sequence*>& order, Room& room, StepPlan& plan) const {
  for (size_t i = 0; i < order.size(); ++i) {
    Sequence& sequence = *order[i];
    if (!sequence.decoding()) continue;
    const int32_t tokens = make_room(order, sequence, room, plan);
    if (tokens > 0) add_rows(plan, sequence, 1, tokens);
  }
}

void Scheduler::plan_prompts(const std::vector<Sequence*>& order, Nanoseconds now, Room& room,
                             StepPlan& plan) const {
  int32_t budget = prefill_budget(plan.total_rows);
  int32_t scored = limits_.max_scored_rows;
  // Rows that a sequence can have: prompt rows whose logits are wanted have a budget of their own.
  const auto rows_of = [&](const Sequence& sequence, int32_t known) {
    int32_t rows = std::min(budget, sequence.pending() - known);
    while (sequence.scored_rows(rows) > scored) {
      rows -= std::max(1, sequence.scored_rows(rows) - scored);
    }
    return rows;
  };
  const auto chunk = [&](Sequence& sequence, int32_t tokens, const cache::PrefixMatch& match) {
    const int32_t rows = rows_of(sequence, match.tokens);
    if (rows == 0) return;
    scored -= sequence.scored_rows(rows);
    add_rows(plan, sequence, rows, tokens, match);
    plan.prefill_rows += rows;
    budget -= rows;
  };
  int32_t places = limits_.max_running - running();
  // Whether a waiting one is admitted; nobody passes the first that does not fit, or a large one
  // would wait for ever.
  const auto admits = [&](Sequence& sequence) {
    if (places == 0 || rows_of(sequence, 0) == 0) return false;
    const cache::PrefixMatch match = pages_.find_prefix(sequence);
    const int32_t tokens = wanted_room(sequence);
    const int64_t pages =
        pages_.pages_of(tokens) - pages_.prefix_pages(match.tokens) + room.pins.pin(match.node);
    if (pages > room.pages) return false;
    room.pages -= pages;
    --places;
    chunk(sequence, tokens, match);
    return true;
  };
  // Who was preempted goes before all that wait, in the next step.
  bool admitting = plan.preempted.empty();
  auto running = order.begin();
  for (size_t c = 0; c < kClasses; ++c) {
    for (; running != order.end() && class_of(**running) == c; ++running) {
      if (budget > 0 && !(*running)->decoding()) chunk(**running, (*running)->room, {});
    }
    for (Sequence* sequence : waiting_[c]) {
      if (sequence->retiring) continue;
      if (past_deadline(*sequence, now)) {
        plan.expired.push_back(sequence);
      } else {
        admitting = admitting && admits(*sequence);
      }
    }
  }
}

void Scheduler::plan(Nanoseconds now, StepPlan& plan) const {
  plan.clear();
  std::vector<Sequence*> order = live_running(now, plan);
  Room room = room_beside(order);
  plan_decodes(order, room, plan);
  plan_prompts(order, now, room, plan);
}

void Scheduler::admit(Sequence& sequence, const cache::PrefixMatch& match) {
  auto& queue = waiting_[class_of(sequence)];
  // All before it in its class were admitted or are retiring, so this is near the front.
  queue.erase(std::find(queue.begin(), queue.end(), &sequence));
  --waiting_count_;
  sequence.running = true;
  O3_CHECK(running() < limits_.max_running, "more sequences run than may");
  running_.push_back(&sequence);
  pages_.adopt(sequence, match, bound_of(sequence));
  sequence.computed = std::max(sequence.computed, sequence.filled);
  if (!sequence.cached) sequence.cached = match.tokens;
}

// It keeps its tokens, gives up its pages and waits where its arrival puts it.
void Scheduler::preempt(Sequence& sequence) {
  O3_CHECK(sequence.running && sequence.inflight == 0 && !sequence.retiring,
           "only what runs and is not in flight is preempted");
  pages_.give_back(sequence);
  sequence.running = false;
  std::erase(running_, &sequence);
  auto& queue = waiting_[class_of(sequence)];
  queue.insert(std::upper_bound(queue.begin(), queue.end(), &sequence, goes_before), &sequence);
  ++waiting_count_;
  ++preemptions_;
}

void Scheduler::commit(const StepPlan& plan) {
  for (Sequence* sequence : plan.expired) {
    retire(*sequence, Outcome::kDeadline,
           Error{Code::kDeadline, "the request's deadline passed before it was finished", {}});
  }
  for (Sequence* sequence : retiring_) {
    if (sequence->inflight == 0) pages_.give_back(*sequence);
  }
  for (Sequence* sequence : plan.preempted) preempt(*sequence);
  // Before any lease, which may take the pages of what nobody pins.
  for (const SequenceRows& share : plan.rows) pages_.pin(share.match);
  for (const SequenceRows& share : plan.rows) {
    Sequence& sequence = *share.sequence;
    if (share.admit) admit(sequence, share.match);
    pages_.charge(sequence, share.room);
    pages_.lease(sequence, sequence.filled + share.rows);
    ++sequence.inflight;
  }
}

void Scheduler::complete(const StepPlan& plan, Nanoseconds took) {
  for (const SequenceRows& share : plan.rows) {
    Sequence& sequence = *share.sequence;
    --sequence.inflight;
    pages_.add_written(sequence, share.rows);
    sequence.computed = std::max(sequence.computed, sequence.filled);
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
  pages_.give_back(sequence);
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
