// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "text/regex/char_set.h"

namespace o3::text {

// Where a parser stands in a pattern, which is well-formed UTF-8.
struct PatternCursor {
  std::string_view pattern;
  size_t at = 0;

  bool done() const noexcept { return at >= pattern.size(); }
  char peek() const noexcept { return done() ? '\0' : pattern[at]; }
  bool take(std::string_view text) noexcept {
    if (!pattern.substr(at).starts_with(text)) return false;
    at += text.size();
    return true;
  }
  char32_t next_code() noexcept;  // not at the end
};

// What stands after a backslash: a class (\s, \p{L}) or one character (\n, \., \x{41}).
Result<CharSet> parse_escape(PatternCursor& cursor);

// What stands after '['.
Result<CharSet> parse_bracket(PatternCursor& cursor);

}  // namespace o3::text
