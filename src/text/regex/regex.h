// SPDX-License-Identifier: Apache-2.0
// Regular expressions of pre-tokenizers as a deterministic machine: leftmost match, alternatives in
// order, as Oniguruma's backtracking finds it, but without backtracking. The machine is built whole
// when the pattern is compiled, so matching allocates nothing and threads share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/regex/char_classes.h"

namespace o3::text {

struct RegexProgram;

class Regex {
 public:
  // kUnsupported: syntax (regex/program.h), or a machine too large, or one that could take
  // quadratic time (see RegexScanner).
  static Result<Regex> compile(std::string_view pattern);

  // One character of the set.
  static Result<Regex> of_set(CharSet set);

  size_t states() const noexcept { return loop_slot_.size(); }

 private:
  static Result<Regex> build(const RegexProgram& program);

  friend class RegexScanner;
  friend class DfaBuilder;

  static constexpr uint16_t kMatched = 0x8000;  // a match ended before the character
  static constexpr uint16_t kDead = 0;
  static constexpr uint8_t kNoLoop = 0xFF;
  static constexpr size_t kMaxLoops = 8;

  uint16_t step(uint16_t state, size_t char_class) const noexcept {
    return table_[state * stride_ + char_class];
  }

  CharClasses classes_;
  size_t stride_ = 0;  // classes and the end of the text
  uint16_t start_ = 0;
  std::vector<uint16_t> table_;
  // States in which the machine may read on for ever without a match, numbered; else kNoLoop.
  std::vector<uint8_t> loop_slot_;
};

// Finds the matches of one text (well-formed UTF-8), one after the other. Linear time: where an
// attempt has read far beyond its match in vain, its states and places are remembered, and a later
// attempt that comes to one of them stops. There are at most 8 such states.
class RegexScanner {
 public:
  RegexScanner(const Regex& regex, std::string_view text) : regex_(&regex), text_(text) {}

  struct Match {
    size_t begin;
    size_t end;
  };
  static constexpr size_t kNone = static_cast<size_t>(-1);

  // The next match; begin is kNone when there is none. Empty matches do not follow a match
  // directly.
  Match next();

 private:
  size_t match_at(size_t begin);
  bool known_failure(size_t at, uint8_t slot) const noexcept {
    return !failed_.empty() && (failed_[at] >> slot & 1u) != 0;
  }
  void remember();

  struct Visit {
    size_t at;
    uint8_t slot;
  };

  const Regex* regex_;
  std::string_view text_;
  size_t at_ = 0;
  size_t last_end_ = kNone;
  std::vector<Visit> visits_;    // since the last match of this attempt
  std::vector<uint8_t> failed_;  // by position: slots of states from which no match follows
};

}  // namespace o3::text
