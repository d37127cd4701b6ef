// SPDX-License-Identifier: Apache-2.0
#include "text/regex/set_parser.h"

#include <optional>
#include <string>

#include "base/hex.h"
#include "base/printable.h"
#include "text/unicode/utf8.h"

namespace o3::text {
namespace {

CharSet one(char32_t code) {
  return CharSet({{code, code}});
}

Error at_position(const PatternCursor& cursor, const std::string& what) {
  return unsupported("regular expression: " + what + " at byte " + std::to_string(cursor.at));
}

// \x41, \x{1F600}, \u0041
Result<CharSet> hex_escape(PatternCursor& cursor, char kind) {
  const bool braces = cursor.take("{");
  const size_t most = braces ? 8 : kind == 'u' ? 4 : 2;
  char32_t code = 0;
  size_t digits = 0;
  while (digits < most && hex_digit(cursor.peek()) >= 0) {
    code = code * 16 + static_cast<char32_t>(hex_digit(cursor.peek()));
    ++cursor.at;
    ++digits;
  }
  if (digits == 0 || code > 0x10FFFF || (braces && !cursor.take("}"))) {
    return at_position(cursor, "a malformed hexadecimal escape");
  }
  return one(code);
}

Result<CharSet> property_escape(PatternCursor& cursor, bool negated) {
  if (!cursor.take("{")) return at_position(cursor, "\\p without braces");
  if (cursor.take("^")) negated = !negated;
  const size_t end = cursor.pattern.find('}', cursor.at);
  if (end == std::string_view::npos) return at_position(cursor, "\\p{ without its end");
  const std::string_view name = cursor.pattern.substr(cursor.at, end - cursor.at);
  std::optional<CharSet> set = CharSet::property(name);
  if (!set) {
    return at_position(cursor, "the property \\p{" + printable(name) +
                                   "} is not supported, only general categories are,");
  }
  cursor.at = end + 1;
  if (negated) set->complement();
  return *std::move(set);
}

CharSet complemented(CharSet set) {
  set.complement();
  return set;
}

}  // namespace

char32_t PatternCursor::next_code() noexcept {
  const Utf8Unit unit = next_utf8_unit(pattern.substr(at));
  at += unit.bytes;
  return unit.code;
}

Result<CharSet> parse_escape(PatternCursor& cursor) {
  if (cursor.done()) return at_position(cursor, "a backslash at the end");
  const char32_t code = cursor.next_code();
  switch (code) {
    case 'n':
      return one('\n');
    case 'r':
      return one('\r');
    case 't':
      return one('\t');
    case 'f':
      return one('\f');
    case 'v':
      return one('\v');
    case 's':
      return CharSet::white_space();
    case 'S':
      return complemented(CharSet::white_space());
    case 'd':
      return *CharSet::property("Nd");
    case 'D':
      return complemented(*CharSet::property("Nd"));
    case 'w':
      return CharSet::word();
    case 'W':
      return complemented(CharSet::word());
    case 'p':
      return property_escape(cursor, false);
    case 'P':
      return property_escape(cursor, true);
    case 'x':
    case 'u':
      return hex_escape(cursor, static_cast<char>(code));
    default:
      break;
  }
  const bool word =
      (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') || (code >= '0' && code <= '9');
  if (word) {
    return at_position(
        cursor, std::string("the escape \\") + static_cast<char>(code) + " is not supported");
  }
  return one(code);
}

Result<CharSet> parse_bracket(PatternCursor& cursor) {
  CharSet set;
  const bool negated = cursor.take("^");
  bool has_low = false;
  char32_t low = 0;  // what a '-' would begin a range with
  for (bool first = true; first || cursor.peek() != ']'; first = false) {
    if (cursor.done()) return at_position(cursor, "a [ without its ]");
    if (cursor.peek() == '[') return at_position(cursor, "a [ inside [ ] is not supported");
    if (cursor.pattern.substr(cursor.at).starts_with("&&")) {
      return at_position(cursor, "&& inside [ ] is not supported");
    }
    const bool range = has_low && cursor.peek() == '-' && cursor.at + 1 < cursor.pattern.size() &&
                       cursor.pattern[cursor.at + 1] != ']';
    if (range) ++cursor.at;
    CharSet item;
    if (cursor.take("\\")) {
      O3_ASSIGN(item, parse_escape(cursor));
    } else {
      item = one(cursor.next_code());
    }
    const bool single =
        item.ranges().size() == 1 && item.ranges()[0].first == item.ranges()[0].second;
    if (range) {
      if (!single || item.ranges()[0].first < low) return at_position(cursor, "a malformed range");
      set.add(low, item.ranges()[0].first);
      has_low = false;
      continue;
    }
    set.add(item);
    has_low = single;
    if (single) low = item.ranges()[0].first;
  }
  ++cursor.at;  // ']'
  set.normalize();
  if (negated) set.complement();
  return set;
}

}  // namespace o3::text
