// SPDX-License-Identifier: Apache-2.0
// Random loads on scheduler and pool with a virtual clock. Every invariant that can be seen from
// outside is checked after every step. A failure is shrunk to few events and printed with its seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "cache/testing/fake_backend.h"
#include "engine/scheduler.h"
#include "engine/testing/test_support.h"

namespace o3::engine {
namespace {

struct Event {
  enum class Kind { kArrive, kCancel, kStep, kFail } kind = Kind::kStep;
  uint64_t id = 0;  // kArrive, kCancel
  int32_t prompt = 0;
  int32_t topic = 0;  // prompts of one topic begin alike; it names the tenant, too
  int32_t max_new = 0;
  int request_class = 0;
  int64_t deadline_ms = 0;     // after now; 0: none
  int64_t took_ms = 0;         // kStep
  uint32_t stop_bits = 0;      // kStep: which sampling rows end their sequence
  bool cancel_inside = false;  // kCancel: while the next step is in flight
};

struct Scenario {
  uint32_t seed = 0;
  uint32_t blocks = 0;
  SchedulerLimits limits;
  bool one_class = false;
  std::vector<Event> events;
};

int64_t slots(const Event& event) {
  return int64_t{event.prompt} + event.max_new - 1;
}

cache::PageLayout two_groups() {
  return *cache::make_page_layout(std::vector{cache::CacheSpec{.kv_heads = 1, .head_dim = 16},
                                              cache::CacheSpec{.kv_heads = 1, .head_dim = 4}},
                                  16);
}

Scenario make_scenario(uint32_t seed, int steps) {
  std::mt19937 random(seed);
  const auto below = [&](uint32_t n) { return static_cast<int32_t>(random() % n); };
  Scenario made;
  made.seed = seed;
  made.blocks = static_cast<uint32_t>(4 + below(60));
  made.limits.max_running = 1 + below(12);
  made.limits.max_step_rows = made.limits.max_running + below(80);
  made.limits.min_prefill_rows = 1 + below(8);
  made.limits.headroom_tokens = below(3) * 40;  // with 0, almost always preempting
  made.one_class = random() % 4 == 0;
  made.limits.share_prefixes = random() % 4 != 0;
  const uint32_t topics = 1 + random() % 8;
  const auto layout = two_groups();
  const uint32_t load = 2 + random() % 20;
  uint64_t ids = 0;
  for (int i = 0; i < steps; ++i) {
    if (random() % 32 < load) {
      Event arrive{.kind = Event::Kind::kArrive, .id = ++ids};
      arrive.prompt = 1 + below(random() % 4 == 0 ? 300 : 40);
      arrive.topic = below(topics);
      arrive.max_new = 1 + below(random() % 4 == 0 ? 200 : 20);
      arrive.request_class = made.one_class ? 2 : below(4);
      if (random() % 8 == 0) arrive.deadline_ms = 1 + below(500);
      if (cache::pages_for(layout, slots(arrive)) <= made.blocks) made.events.push_back(arrive);
    }
    if (ids > 0 && random() % 16 == 0) {
      made.events.push_back({.kind = Event::Kind::kCancel,
                             .id = 1 + random() % ids,
                             .cancel_inside = random() % 2 == 0});
    }
    made.events.push_back({.kind = random() % 2000 == 0 ? Event::Kind::kFail : Event::Kind::kStep,
                           .took_ms = 1 + below(40),
                           .stop_bits = static_cast<uint32_t>(random() & random() & random())});
  }
  return made;
}

// Runs a scenario to its end and until nothing is alive. run() gives what went wrong, or nothing.
class Simulation {
 public:
  explicit Simulation(const Scenario& scenario)
      : scenario_(scenario),
        pool_(*cache::BlockPool::create(backend_, two_groups(), scenario.blocks)),
        scheduler_(scenario.limits, *pool_),
        written_(scenario.blocks) {}

  int64_t preempted() const { return preempted_; }
  int64_t reused() const { return reused_; }  // tokens

  std::string run() {
    for (const Event& event : scenario_.events) {
      obey(event);
      if (!wrong_.empty()) return wrong_;
    }
    for (int64_t guard = 0; !scheduler_.empty(); ++guard) {
      obey({.kind = Event::Kind::kStep, .took_ms = 1});
      if (!wrong_.empty()) return wrong_;
      if (guard > 1'000'000) return "the load is never finished";
    }
    if (!alive_.empty()) return "an accepted request has no outcome";
    const int64_t cached = scheduler_.pages().cached();
    if (pool_->free_blocks() + cached != pool_->total_blocks())
      return "pages are missing at the end";
    if (scheduler_.pages().pinned() != 0) return "a prefix is pinned at the end";
    if (!(scheduler_.pages().usage() == cache::SlotUsage{})) return "slots are counted at the end";
    return wrong_;
  }

 private:
  struct Alive {
    Sequence* sequence = nullptr;
    int64_t patience = 0;  // steps until it must have finished
    bool cancelled = false;
    int steps_since_cancel = 0;
  };

  void check(bool holds, const char* what) {
    if (!holds && wrong_.empty()) wrong_ = what;
  }

  void obey(const Event& event) {
    switch (event.kind) {
      case Event::Kind::kArrive:
        return arrive(event);
      case Event::Kind::kCancel:
        if (event.cancel_inside) {
          cancel_inside_.push_back(event.id);
        } else {
          cancel(event.id);
        }
        return;
      case Event::Kind::kFail:
      case Event::Kind::kStep:
        return step(event);
    }
  }

  void arrive(const Event& event) {
    if (alive_.contains(event.id)) return;
    Ask ask{.id = event.id,
            .prompt = prompt_of(event),
            .max_new_tokens = event.max_new,
            .request_class = static_cast<RequestClass>(event.request_class),
            .tenant = event.topic % 2 == 0 ? "even" : "odd"};
    if (event.deadline_ms > 0) ask.deadline = now_ + std::chrono::milliseconds(event.deadline_ms);
    Sequence& sequence =
        scheduler_.enqueue(std::make_unique<Sequence>(make_request(std::move(ask)), nullptr));
    // Everything that may legitimately go first: what runs, what waits in its class or a higher
    // one, and higher classes that come later. Each step does at least one row of that.
    const auto rows = [](const Sequence& s) {
      return s.prompt_tokens() + s.work().max_new_tokens + 1 - s.filled;
    };
    const int64_t own = rows(sequence);
    int64_t patience = own;
    for (auto& [id, other] : alive_) {
      const Sequence& s = *other.sequence;
      if (s.running || s.request->request_class <= sequence.request->request_class) {
        patience += rows(s);
      }
      if (sequence.request->request_class < s.request->request_class) other.patience += own;
    }
    alive_[event.id] = {.sequence = &sequence, .patience = patience};
  }

  // Half of them alike to a random length, then their own.
  static std::vector<Token> prompt_of(const Event& event) {
    std::vector<Token> tokens(static_cast<size_t>(event.prompt), event.topic / 2);
    if (event.id % 2 == 0) return tokens;
    const auto alike = static_cast<ptrdiff_t>(event.id * 7919 % (tokens.size() + 1));
    std::fill(tokens.begin() + alike, tokens.end(), 1000 + static_cast<Token>(event.id % 3));
    return tokens;
  }

  void cancel(uint64_t id) {
    scheduler_.retire(RequestId{id}, Outcome::kCancelled);
    const auto found = alive_.find(id);
    if (found != alive_.end()) found->second.cancelled = true;
  }

  void step(const Event& event) {
    scheduler_.plan(now_, plan_);
    check_plan();
    check_preempted();
    scheduler_.commit(plan_);
    check_pages();
    for (const uint64_t id : cancel_inside_) cancel(id);
    cancel_inside_.clear();
    if (event.kind == Event::Kind::kFail) scheduler_.retire_all(Outcome::kError);
    write_slots();
    sample(event.stop_bits);
    now_ += std::chrono::milliseconds(event.took_ms);
    scheduler_.complete(plan_, std::chrono::milliseconds(event.took_ms));
    reap();
    check_pages();
    for (auto& [id, alive] : alive_) {
      check(--alive.patience >= 0, "a request starves");
      check(!alive.cancelled, "a cancelled request outlives the step");
    }
  }

  // What the model does: K and V of a token depend on all tokens up to it. Each slot of the cache
  // remembers which they were, and attention needs all of its sequence's.
  void write_slots() {
    for (const SequenceRows& share : plan_.rows) {
      const Sequence& s = *share.sequence;
      reused_ += share.match.tokens;
      const int32_t end = s.filled + share.rows;
      std::vector<Slot> history;
      uint64_t before = std::hash<std::string>{}(s.request->domain.tenant);
      for (int32_t p = 0; p < end; ++p) {
        before = before * 0x9E3779B97F4A7C15U + static_cast<uint64_t>(s.token(p)) + 1;
        history.push_back({.history = before, .position = p});
      }
      const bool read = share.sample && ++reads_ % 8 == 0;
      for (size_t g = 0; g < s.tables.size(); ++g) {
        const int32_t page_tokens = pool_->layout().groups[g].page_tokens;
        const auto slot = [&](int32_t position) -> Slot& {
          const uint32_t id = s.tables[g].ids()[static_cast<size_t>(position / page_tokens)];
          check(position < s.filled || pool_->holders(id) == 1, "a shared page is written");
          auto& page = written_[id];
          page.resize(std::max(page.size(), static_cast<size_t>(page_tokens)));
          return page[static_cast<size_t>(position % page_tokens)];
        };
        const auto what = [&](int32_t p) {
          Slot made = history[static_cast<size_t>(p)];
          made.group = g;
          return made;
        };
        for (int32_t p = s.filled; p < end; ++p) slot(p) = what(p);
        for (int32_t p = 0; read && p < s.filled; ++p) {
          check(slot(p) == what(p), "a token is not in the cache");
        }
      }
    }
  }

  void sample(uint32_t stop_bits) {
    uint32_t n = 0;
    for (const SequenceRows& share : plan_.rows) {
      Sequence& s = *share.sequence;
      if (!share.sample || s.retiring) continue;
      s.sampled.push_back(1);
      if (std::ssize(s.sampled) == s.work().max_new_tokens) {
        scheduler_.retire(s, Outcome::kLength);
      } else if (stop_bits >> (n++ % 32) & 1U) {
        scheduler_.retire(s, Outcome::kStop);
      }
    }
  }

  void reap() {
    released_.clear();
    scheduler_.reap(released_);
    for (const auto& sequence : released_) {
      check(alive_.erase(sequence->request->id.value) == 1, "a request ends twice");
      check(sequence->retiring && sequence->inflight == 0, "released while in use");
      check(sequence->tables.empty(), "a released sequence keeps pages");
    }
  }

  void check_plan() {
    const SchedulerLimits& limits = scenario_.limits;
    int32_t total = 0;
    int32_t admitted = 0;
    bool decodes = true;
    std::set<const Sequence*> planned;
    for (const SequenceRows& share : plan_.rows) {
      const Sequence& s = *share.sequence;
      check(planned.insert(&s).second, "a sequence is planned twice");
      const int32_t pending = s.pending() - share.match.tokens;
      check(share.rows >= 1 && share.rows <= pending, "rows that do not exist");
      check(share.sample == (share.rows == pending), "the wrong rows sample");
      check(share.admit || share.match.node == nullptr, "a running sequence finds a prefix");
      check(share.admit == !s.running, "a running sequence is admitted");
      check(!s.retiring, "a retiring sequence is planned");
      decodes = decodes && s.decoding();
      check(decodes || !s.decoding(), "a decode row after a chunk");
      total += share.rows;
      admitted += share.admit ? 1 : 0;
      if (share.admit) check_order(s);
    }
    check(total == plan_.total_rows && total <= limits.max_step_rows, "too many rows");
    check(scheduler_.running() + admitted <= limits.max_running, "too many run");
    for (const Sequence* s : plan_.expired) check(!planned.contains(s), "expired and planned");
    for (const Sequence* s : plan_.preempted) check(!planned.contains(s), "preempted and planned");
    bool idle_prefill = false;
    for (const auto& [id, alive] : alive_) {
      const Sequence& s = *alive.sequence;
      if (s.retiring || planned.contains(&s) || !s.running) continue;
      if (std::find(plan_.expired.begin(), plan_.expired.end(), &s) != plan_.expired.end())
        continue;
      if (std::find(plan_.preempted.begin(), plan_.preempted.end(), &s) != plan_.preempted.end())
        continue;
      check(!s.decoding(), "a decoding sequence stands still");
      idle_prefill = true;
    }
    check(!idle_prefill || plan_.prefill_rows > 0, "no prompt progresses");
    check(!plan_.rows.empty() || !plan_.expired.empty() || alive_.empty() || some_retiring(),
          "nothing progresses");
  }

  // The last in the order of class and arrival make room, for somebody before them; what they had
  // computed is computed again, which everybody may have to wait for.
  void check_preempted() {
    const auto key = [](const Sequence& s) {
      return std::pair(s.request->request_class, s.arrival);
    };
    int64_t again = 0;
    for (const Sequence* victim : plan_.preempted) {
      check(victim->running && !victim->retiring && victim->inflight == 0, "the wrong one yields");
      again += victim->filled;
      for (const auto& [id, alive] : alive_) {
        const Sequence& s = *alive.sequence;
        const bool yields =
            std::find(plan_.preempted.begin(), plan_.preempted.end(), &s) != plan_.preempted.end();
        const bool ends = s.retiring || std::find(plan_.expired.begin(), plan_.expired.end(), &s) !=
                                            plan_.expired.end();
        check(!s.running || ends || yields || key(s) < key(*victim), "a later one keeps running");
      }
    }
    check(plan_.preempted.empty() || !plan_.rows.empty(), "all yield and nobody gains");
    for (const SequenceRows& share : plan_.rows) {
      check(plan_.preempted.empty() || !share.admit, "admitted while somebody must yield");
    }
    preempted_ += std::ssize(plan_.preempted);
    for (auto& [id, alive] : alive_) alive.patience += again;
  }

  // Their places are free for the next step.
  bool some_retiring() const {
    return std::any_of(alive_.begin(), alive_.end(),
                       [](const auto& entry) { return entry.second.sequence->retiring; });
  }

  // Admission follows class, then arrival.
  void check_order(const Sequence& admitted) {
    for (const auto& [id, alive] : alive_) {
      const Sequence& s = *alive.sequence;
      if (s.running || s.retiring || &s == &admitted) continue;
      const bool before = std::pair(s.request->request_class, s.arrival) <
                          std::pair(admitted.request->request_class, admitted.arrival);
      const auto in_plan = [&](const SequenceRows& share) { return share.sequence == &s; };
      const bool expired =
          std::find(plan_.expired.begin(), plan_.expired.end(), &s) != plan_.expired.end();
      check(!before || expired ||
                std::find_if(plan_.rows.begin(), plan_.rows.end(), in_plan) != plan_.rows.end(),
            "somebody jumped the queue");
    }
  }

  void check_pages() {
    std::set<uint32_t> held;   // by sequences
    std::set<uint32_t> units;  // of those, in shared units
    int64_t charged = 0;
    cache::SlotUsage usage;
    for (const auto& [id, alive] : alive_) {
      const Sequence& s = *alive.sequence;
      int64_t own = 0;
      for (size_t g = 0; g < s.tables.size(); ++g) {
        const int32_t page_tokens = pool_->layout().groups[g].page_tokens;
        const auto ids = s.tables[g].ids();
        const auto shared = static_cast<size_t>(s.prefix_tokens / page_tokens);
        for (size_t i = 0; i < ids.size(); ++i) {
          const bool fresh = held.insert(ids[i]).second;
          if (i < shared) {
            if (!units.insert(ids[i]).second) continue;
            usage.written += page_tokens;
          } else {
            check(fresh && pool_->holders(ids[i]) == 1, "a page outside the prefix is shared");
            ++own;
          }
          usage.leased += page_tokens;
        }
        usage.written += s.filled - s.prefix_tokens;
        check(s.filled <= static_cast<int64_t>(ids.size()) * page_tokens, "tokens without a page");
      }
      check(own <= s.charge || !s.running, "more pages than charged");
      charged += s.running ? s.charge : 0;
    }
    const PageLedger& pages = scheduler_.pages();
    check(std::ssize(held) == pages.used(), "pages in use are miscounted");
    check(std::ssize(held) + pages.cached() + pool_->free_blocks() == pool_->total_blocks(),
          "pages are not conserved");
    check(charged + std::ssize(units) == pages.charged(), "the charges do not add up");
    check(pages.charged() <= pool_->total_blocks(), "more is promised than there is");
    check(usage == pages.usage(), "slots are miscounted");
    check(preempted_ == scheduler_.preemptions(), "preemptions are miscounted");
    if (++checks_ % 64 == 0) check(pool_->check_integrity().ok(), "the pool is broken");
  }

  struct Slot {
    uint64_t history = 0;  // of the tokens up to this one
    size_t group = 0;
    int32_t position = 0;
    bool operator==(const Slot&) const = default;
  };

  const Scenario& scenario_;
  cache::FakeBackend backend_;
  std::unique_ptr<cache::BlockPool> pool_;
  Scheduler scheduler_;
  Nanoseconds now_{0};
  StepPlan plan_;
  std::vector<std::unique_ptr<Sequence>> released_;
  std::map<uint64_t, Alive> alive_;
  std::vector<uint64_t> cancel_inside_;
  std::vector<std::vector<Slot>> written_;  // by page
  std::string wrong_;
  int checks_ = 0;
  int reads_ = 0;
  int64_t preempted_ = 0;
  int64_t reused_ = 0;
};

// Drops ever smaller runs of events while the scenario still fails.
Scenario shrink(Scenario scenario) {
  for (size_t chunk = scenario.events.size() / 2; chunk >= 1; chunk /= 2) {
    for (size_t at = 0; at + chunk <= scenario.events.size();) {
      Scenario smaller = scenario;
      const auto from = smaller.events.begin() + static_cast<ptrdiff_t>(at);
      smaller.events.erase(from, from + static_cast<ptrdiff_t>(chunk));
      if (Simulation(smaller).run().empty()) {
        at += chunk;
      } else {
        scenario = std::move(smaller);
      }
    }
  }
  return scenario;
}

std::string describe(const Scenario& scenario) {
  std::ostringstream out;
  out << "seed " << scenario.seed << ", blocks " << scenario.blocks << ", max_running "
      << scenario.limits.max_running << ", max_step_rows " << scenario.limits.max_step_rows
      << ", min_prefill_rows " << scenario.limits.min_prefill_rows << "\n";
  for (const Event& e : scenario.events) {
    switch (e.kind) {
      case Event::Kind::kArrive:
        out << "  arrive " << e.id << " prompt " << e.prompt << " topic " << e.topic << " max_new "
            << e.max_new << " class " << e.request_class << " deadline " << e.deadline_ms
            << " ms\n";
        break;
      case Event::Kind::kCancel:
        out << "  cancel " << e.id << (e.cancel_inside ? " inside\n" : "\n");
        break;
      case Event::Kind::kFail:
        out << "  failing step\n";
        break;
      case Event::Kind::kStep:
        out << "  step " << e.took_ms << " ms, stops " << std::hex << e.stop_bits << std::dec
            << "\n";
    }
  }
  return out.str();
}

// A million steps where tests are fast, fewer where every access is checked.
#ifdef NDEBUG
constexpr uint32_t kScenarios = 1000;
#else
constexpr uint32_t kScenarios = 25;
#endif
constexpr int kStepsEach = 1000;

TEST(SimulationInvariant, RandomLoadsKeepEveryInvariant) {
  int64_t preempted = 0;
  int64_t reused = 0;
  for (uint32_t seed = 1; seed <= kScenarios; ++seed) {
    const Scenario scenario = make_scenario(seed, kStepsEach);
    Simulation simulation(scenario);
    const std::string wrong = simulation.run();
    preempted += simulation.preempted();
    reused += simulation.reused();
    if (wrong.empty()) continue;
    const Scenario small = shrink(scenario);
    FAIL() << wrong << "; shrunk: " << Simulation(small).run() << "\n" << describe(small);
  }
  EXPECT_GT(preempted, kScenarios) << "the load leaves too much room";
  EXPECT_GT(reused, 500 * int64_t{kScenarios}) << "hardly a prefix is found again";
}

}  // namespace
}  // namespace o3::engine
