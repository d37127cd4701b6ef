// SPDX-License-Identifier: Apache-2.0
// The subset construction (Rabin and Scott 1959) with ordered subsets, so that alternatives keep
// their priority. Look-ahead and matches wait in a state until the next character is known.
#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "text/regex/program.h"
#include "text/regex/regex.h"

namespace o3::text {

class DfaBuilder {
 public:
  DfaBuilder(const RegexProgram& program, Regex& out) : program_(program), out_(out) {}

  Result<void> build() {
    out_.stride_ = out_.classes_.count() + 1;
    seen_.assign(program_.ops.size(), 0);
    state_of({});  // kDead
    out_.table_.assign(out_.stride_, 0);
    List start;
    next_list();
    follow(program_.start, start, kNothingKnown);
    out_.start_ = state_of(std::move(start));
    for (size_t state = 1; state < lists_.size(); ++state) {
      if (lists_.size() > kMaxStates || work_ > kMaxWork) {
        return unsupported("regular expression: needs too many states");
      }
      for (size_t c = 0; c < out_.stride_; ++c) {
        out_.table_.push_back(transition(*lists_[state], c));
      }
    }
    return find_loops();
  }

 private:
  using List = std::vector<uint32_t>;
  using Kind = RegexOp::Kind;
  static constexpr size_t kMaxStates = 8000;
  static constexpr size_t kMaxWork = 20'000'000;  // operations followed in all
  static constexpr size_t kNothingKnown = SIZE_MAX;

  void next_list() { ++generation_; }

  uint16_t state_of(List list) {
    const auto [entry, fresh] =
        states_.try_emplace(std::move(list), static_cast<uint16_t>(lists_.size()));
    if (fresh) lists_.push_back(&entry->first);
    return entry->second;
  }

  // Adds what `op` leads to without taking a character, best first. With a class known, look-ahead
  // is decided; else it waits in the list. True: a match was reached, and nothing after it counts.
  bool follow(uint32_t op, List& list, size_t char_class) {
    std::vector<uint32_t> stack{op};
    while (!stack.empty()) {
      const uint32_t at = stack.back();
      stack.pop_back();
      ++work_;
      if (seen_[at] == generation_) continue;
      seen_[at] = generation_;
      const RegexOp& now = program_.ops[at];
      if (now.kind == Kind::kSplit) {
        stack.push_back(now.other);
        stack.push_back(now.next);
      } else if (now.kind == Kind::kLook && char_class != kNothingKnown) {
        if (holds(now, char_class)) stack.push_back(now.next);
      } else {
        list.push_back(at);
        if (now.kind == Kind::kMatch) return true;
      }
    }
    return false;
  }

  bool at_end(size_t char_class) const { return char_class + 1 == out_.stride_; }
  bool holds(const RegexOp& look, size_t char_class) const {
    return at_end(char_class) ? look.at_end : out_.classes_.member(char_class, look.set);
  }

  uint16_t transition(const List& list, size_t char_class) {
    List decided;
    next_list();
    bool matched = false;
    for (size_t i = 0; i < list.size() && !matched; ++i) {
      matched = follow(list[i], decided, char_class);
    }
    List after;
    next_list();
    if (!at_end(char_class)) {
      for (const uint32_t at : decided) {
        const RegexOp& op = program_.ops[at];
        if (op.kind != Kind::kSet || !out_.classes_.member(char_class, op.set)) continue;
        if (follow(op.next, after, kNothingKnown)) break;
      }
    }
    const uint16_t to = state_of(std::move(after));
    return matched ? static_cast<uint16_t>(to | Regex::kMatched) : to;
  }

  // Only states on a cycle of transitions without a match can make the machine read on in vain.
  // States that lead nowhere or come from nowhere in that graph are peeled off; some that only
  // connect cycles remain, which does no harm.
  Result<void> find_loops() {
    const size_t count = lists_.size();
    std::vector<bool> loops(count, true);
    loops[Regex::kDead] = false;
    for (bool changed = true; changed;) {
      changed = false;
      std::vector<bool> reached(count);
      for (size_t from = 0; from < count; ++from) {
        if (!loops[from]) continue;
        bool leads = false;
        for (size_t c = 0; c + 1 < out_.stride_; ++c) {
          const uint16_t entry = out_.table_[from * out_.stride_ + c];
          if ((entry & Regex::kMatched) != 0 || !loops[entry]) continue;
          reached[entry] = true;
          leads = true;
        }
        if (!leads) {
          loops[from] = false;
          changed = true;
        }
      }
      for (size_t state = 0; state < count; ++state) {
        if (loops[state] && !reached[state]) {
          loops[state] = false;
          changed = true;
        }
      }
    }
    out_.loop_slot_.assign(count, Regex::kNoLoop);
    uint8_t slots = 0;
    for (size_t state = 0; state < count; ++state) {
      if (!loops[state]) continue;
      if (slots == Regex::kMaxLoops) {
        return unsupported("regular expression: could take time quadratic in the text's length");
      }
      out_.loop_slot_[state] = slots++;
    }
    return {};
  }

  const RegexProgram& program_;
  Regex& out_;
  std::map<List, uint16_t> states_;
  std::vector<const List*> lists_;  // keys of states_, by number
  std::vector<uint32_t> seen_;      // the generation in which an operation was last met
  uint32_t generation_ = 0;
  size_t work_ = 0;
};

Result<Regex> Regex::build(const RegexProgram& program) {
  Regex out;
  O3_ASSIGN(out.classes_, CharClasses::build(program.sets));
  O3_TRY(DfaBuilder(program, out).build());
  return out;
}

Result<Regex> Regex::compile(std::string_view pattern) {
  O3_ASSIGN(const RegexProgram program, parse_regex(pattern));
  return build(program);
}

Result<Regex> Regex::of_set(CharSet set) {
  RegexProgram program;
  program.ops.push_back({});  // kMatch
  program.ops.push_back({RegexOp::Kind::kSet, false, 0, 0, 0});
  program.sets.push_back(std::move(set));
  program.start = 1;
  return build(program);
}

}  // namespace o3::text
