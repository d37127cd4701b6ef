// SPDX-License-Identifier: Apache-2.0
// A regular expression as a program of a non-deterministic machine (Thompson 1968). The order of
// the two ways at a split is Perl's: the first is preferred.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/regex/char_set.h"

namespace o3::text {

struct RegexOp {
  enum class Kind : uint8_t {
    kSet,    // takes one character of sets[set]
    kLook,   // goes on if the next character is in sets[set], or at the end if `at_end`
    kSplit,  // goes on at `next` or, second choice, at `other`
    kMatch,
  };
  Kind kind = Kind::kMatch;
  bool at_end = false;
  uint32_t set = 0;
  uint32_t next = 0;
  uint32_t other = 0;
};

struct RegexProgram {
  std::vector<RegexOp> ops;
  std::vector<CharSet> sets;
  uint32_t start = 0;
};

// Oniguruma's syntax, as far as pre-tokenizers use it: literals and escapes, [...], \s \S \d \D \w
// \W \p{L} \P{L}, ., groups, (?i:...), |, ? * + {m,n} greedy or lazy, (?=x) (?!x) where x is one
// character, $. Anything else is kUnsupported, by name.
Result<RegexProgram> parse_regex(std::string_view pattern);

}  // namespace o3::text
