// SPDX-License-Identifier: Apache-2.0
// The syntax tree between parser and compiler.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/regex/char_set.h"

namespace o3::text {

inline constexpr uint32_t kUnbounded = UINT32_MAX;

struct RegexNode {
  enum class Kind : uint8_t { kEmpty, kSet, kLook, kConcat, kAlternate, kRepeat };
  Kind kind = Kind::kEmpty;
  CharSet set;              // kSet, kLook
  bool at_end = false;      // kLook: holds at the end of the text too
  uint32_t min = 0;         // kRepeat
  uint32_t max = 0;         // kRepeat: kUnbounded
  bool greedy = true;       // kRepeat
  bool possessive = false;  // kRepeat: never gives back
  std::vector<uint32_t> children;
};

struct RegexTree {
  std::vector<RegexNode> nodes;
  uint32_t root = 0;
};

Result<RegexTree> parse_regex_tree(std::string_view pattern);

}  // namespace o3::text
