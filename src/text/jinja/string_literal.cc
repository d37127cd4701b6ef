// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/string_literal.h"

#include <algorithm>

#include "base/hex.h"
#include "text/jinja/unicode.h"
#include "text/unicode/utf8.h"

namespace o3::text::jinja {
namespace {

// Value of exactly `width` hexadecimal digits at text[pos]; -1 when they are not there.
int64_t hex_digits(std::string_view text, size_t pos, size_t width) {
  if (text.size() - pos < width) return -1;
  int64_t value = 0;
  for (size_t i = 0; i < width; ++i) {
    const int digit = hex_digit(text[pos + i]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

// The character of a one-letter escape, or 0.
char simple_escape(char letter) {
  switch (letter) {
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'v':
      return '\v';
    case '\\':
    case '\'':
    case '"':
      return letter;
    default:
      return 0;
  }
}

Result<void> append_hex(std::string& out, std::string_view text, size_t& pos, size_t width) {
  const int64_t value = hex_digits(text, pos, width);
  if (value < 0) return invalid("truncated \\x, \\u or \\U escape in a string");
  if (value > 0x10FFFF) return invalid("an escape in a string is no Unicode character");
  if (value >= 0xD800 && value < 0xE000) {
    return unsupported("surrogate escapes in a string are not supported");
  }
  append_utf8(static_cast<char32_t>(value), out);
  pos += width;
  return {};
}

// text[pos] is behind the backslash.
Result<void> append_escape(std::string& out, std::string_view text, size_t& pos) {
  const char letter = text[pos];
  if (const char simple = simple_escape(letter); simple != 0) {
    out += simple;
    ++pos;
    return {};
  }
  if (letter >= '0' && letter <= '7') {
    char32_t value = 0;
    for (int i = 0; i < 3 && pos < text.size() && text[pos] >= '0' && text[pos] <= '7'; ++i) {
      value = value * 8 + static_cast<char32_t>(text[pos++] - '0');
    }
    append_utf8(value, out);
    return {};
  }
  const size_t width = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
  if (width > 0) return append_hex(out, text, ++pos, width);
  if (letter == 'N') return unsupported("\\N escapes in a string are not supported");
  if (letter == '\n') {
    ++pos;
    return {};
  }
  // An unknown escape stays as it is; jinja2 turns a character outside ASCII into its escape first.
  out += '\\';
  const char32_t c = next_code_point(text, pos);
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else {
    out += hex_escape(c).substr(1);
  }
  return {};
}

}  // namespace

std::string hex_escape(char32_t c) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  const int width = c < 0x100 ? 2 : c < 0x10000 ? 4 : 8;
  std::string out = width == 2 ? "\\x" : width == 4 ? "\\u" : "\\U";
  for (int i = width - 1; i >= 0; --i) out += kDigits[(c >> (4 * i)) & 0xF];
  return out;
}

Result<std::string> unescape(std::string_view text) {
  std::string out;
  for (size_t pos = 0; pos < text.size();) {
    if (text[pos] != '\\') {
      out += text[pos++];
      continue;
    }
    if (++pos == text.size()) return invalid("a string ends with a backslash");
    O3_TRY(append_escape(out, text, pos));
  }
  return out;
}

}  // namespace o3::text::jinja
