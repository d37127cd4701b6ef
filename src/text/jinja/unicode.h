// SPDX-License-Identifier: Apache-2.0
// Characters as Python's str sees them. Text here is well-formed UTF-8 unless said otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace o3::text::jinja {

// The code point that starts at text[pos]; pos moves behind it.
char32_t next_code_point(std::string_view text, size_t& pos) noexcept;
// Start of the code point that ends at text[end - 1] (end > 0).
size_t previous_code_point(std::string_view text, size_t end) noexcept;
size_t count_code_points(std::string_view text) noexcept;
// Bytes of the code point whose first byte is `lead`.
size_t utf8_length(char lead) noexcept;

bool is_space(char32_t c) noexcept;      // str.isspace
bool is_line_end(char32_t c) noexcept;   // where str.splitlines breaks
bool is_printable(char32_t c) noexcept;  // str.isprintable
bool is_lower(char32_t c) noexcept;      // str.islower of one character
bool is_upper(char32_t c) noexcept;
bool is_title(char32_t c) noexcept;
bool is_cased(char32_t c) noexcept;
bool is_case_ignorable(char32_t c) noexcept;
bool is_alphabetic(char32_t c) noexcept;   // str.isalpha of one character
bool is_any_digit(char32_t c) noexcept;    // str.isdigit: decimal digits, and superscripts and such
bool is_any_numeric(char32_t c) noexcept;  // str.isnumeric: those, and fractions and such
int decimal_digit(char32_t c) noexcept;    // 0-9, or -1

// Full case mappings of one character, appended to out (a mapping may be several characters). The
// final sigma needs its context: see lower_at().
void append_upper(std::string& out, char32_t c);
void append_title(std::string& out, char32_t c);
void append_folded(std::string& out, char32_t c);  // str.casefold
// Lower case of the code point at text[pos], which may depend on its neighbours.
void append_lower_at(std::string& out, std::string_view text, size_t pos);

}  // namespace o3::text::jinja
