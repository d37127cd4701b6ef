// SPDX-License-Identifier: Apache-2.0
// UTF-8 with the replacement policy of the Unicode Standard (section 3.9, "U+FFFD Substitution of
// Maximal Subparts"): Table 3-7 says which byte may follow which.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace o3::text {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

// What the next bytes of a text are: one code point, or one maximal ill-formed subpart.
struct Utf8Unit {
  char32_t code = 0;         // U+FFFD when ill-formed
  uint8_t bytes = 0;         // 1-4
  bool well_formed = false;  // false: replace these bytes by one U+FFFD
  bool truncated = false;    // ill-formed only because the text ends; more bytes could complete it
};

// text must not be empty.
Utf8Unit next_utf8_unit(std::string_view text) noexcept;

bool is_utf8(std::string_view text) noexcept;

// A copy with each maximal ill-formed subpart replaced.
std::string repaired_utf8(std::string_view text);

// Appends one code point (a Unicode scalar value).
void append_utf8(char32_t code, std::string& out);

}  // namespace o3::text
