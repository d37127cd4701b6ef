// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/unicode.h"

#include <algorithm>
#include <span>

#include "text/unicode/utf8.h"

namespace o3::text::jinja {
namespace {

struct CaseRun {  // c in first, first + step, ..., last maps to c + delta
  char32_t first;
  char32_t last;
  uint32_t step;
  int32_t delta;
};
struct CaseSpecial {
  char32_t from;
  std::string_view to;
};
struct CodeRange {
  char32_t first;
  char32_t last;
};
struct DecimalZero {
  char32_t zero;
};

#include "text/jinja/unicode_tables.inc"

constexpr char32_t kCapitalSigma = 0x3A3;
constexpr char32_t kSmallSigma = 0x3C3;
constexpr char32_t kFinalSigma = 0x3C2;

bool in_ranges(std::span<const CodeRange> ranges, char32_t c) noexcept {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), c,
                                      [](char32_t x, const CodeRange& r) { return x < r.first; });
  return after != ranges.begin() && c <= std::prev(after)->last;
}

void append_mapped(std::string& out, char32_t c, std::span<const CaseRun> runs,
                   std::span<const CaseSpecial> specials) {
  const auto special =
      std::lower_bound(specials.begin(), specials.end(), c,
                       [](const CaseSpecial& s, char32_t x) { return s.from < x; });
  if (special != specials.end() && special->from == c) {
    out += special->to;
    return;
  }
  const auto after = std::upper_bound(runs.begin(), runs.end(), c,
                                      [](char32_t x, const CaseRun& r) { return x < r.first; });
  if (after != runs.begin()) {
    const CaseRun& run = *std::prev(after);
    if (c <= run.last && (c - run.first) % run.step == 0) {
      c = static_cast<char32_t>(static_cast<int32_t>(c) + run.delta);
    }
  }
  append_utf8(c, out);
}

// Unicode 3.13, Final_Sigma: a cased letter before and none after, case-ignorable ones skipped.
bool is_final_sigma(std::string_view text, size_t pos) {
  size_t before = pos;
  bool cased_before = false;
  while (before > 0) {
    before = previous_code_point(text, before);
    size_t at = before;
    const char32_t c = next_code_point(text, at);
    if (is_case_ignorable(c)) continue;
    cased_before = is_cased(c);
    break;
  }
  if (!cased_before) return false;
  size_t after = pos;
  next_code_point(text, after);
  while (after < text.size()) {
    const char32_t c = next_code_point(text, after);
    if (!is_case_ignorable(c)) return !is_cased(c);
  }
  return true;
}

}  // namespace

size_t utf8_length(char lead) noexcept {
  const auto byte = static_cast<unsigned char>(lead);
  if (byte < 0x80) return 1;
  if (byte < 0xE0) return 2;
  return byte < 0xF0 ? 3 : 4;
}

char32_t next_code_point(std::string_view text, size_t& pos) noexcept {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const size_t length = std::min(utf8_length(text[pos]), text.size() - pos);
  char32_t c = byte(pos);
  if (length > 1) {
    c &= 0xFFu >> (length + 1);
    for (size_t i = 1; i < length; ++i) c = (c << 6) | (byte(pos + i) & 0x3Fu);
  }
  pos += length;
  return c;
}

size_t previous_code_point(std::string_view text, size_t end) noexcept {
  size_t pos = end - 1;
  while (pos > 0 && (static_cast<unsigned char>(text[pos]) & 0xC0u) == 0x80) --pos;
  return pos;
}

size_t count_code_points(std::string_view text) noexcept {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0u) != 0x80;
  }));
}

bool is_space(char32_t c) noexcept {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

bool is_line_end(char32_t c) noexcept {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

bool is_printable(char32_t c) noexcept {
  return !in_ranges(kUnprintable, c);
}
bool is_lower(char32_t c) noexcept {
  return in_ranges(kLowercase, c);
}
bool is_upper(char32_t c) noexcept {
  return in_ranges(kUppercase, c);
}
bool is_title(char32_t c) noexcept {
  return in_ranges(kTitlecase, c);
}
bool is_cased(char32_t c) noexcept {
  return is_lower(c) || is_upper(c) || is_title(c);
}
bool is_case_ignorable(char32_t c) noexcept {
  return in_ranges(kCaseIgnorable, c);
}

bool is_alphabetic(char32_t c) noexcept {
  return in_ranges(kAlphabetic, c);
}
bool is_any_digit(char32_t c) noexcept {
  return decimal_digit(c) >= 0 || in_ranges(kOtherDigits, c);
}
bool is_any_numeric(char32_t c) noexcept {
  return decimal_digit(c) >= 0 || in_ranges(kOtherNumeric, c);
}

int decimal_digit(char32_t c) noexcept {
  const std::span<const DecimalZero> zeros = kDecimalZeros;
  const auto after = std::upper_bound(zeros.begin(), zeros.end(), c,
                                      [](char32_t x, const DecimalZero& z) { return x < z.zero; });
  if (after == zeros.begin()) return -1;
  const char32_t digit = c - std::prev(after)->zero;
  return digit < 10 ? static_cast<int>(digit) : -1;
}

void append_upper(std::string& out, char32_t c) {
  append_mapped(out, c, kUpperRuns, kUpperSpecial);
}

void append_title(std::string& out, char32_t c) {
  append_mapped(out, c, kTitleRuns, kTitleSpecial);
}

void append_folded(std::string& out, char32_t c) {
  append_mapped(out, c, kLowerRuns, kFoldSpecial);
}

void append_lower_at(std::string& out, std::string_view text, size_t pos) {
  size_t at = pos;
  const char32_t c = next_code_point(text, at);
  if (c == kCapitalSigma) {
    append_utf8(is_final_sigma(text, pos) ? kFinalSigma : kSmallSigma, out);
  } else {
    append_mapped(out, c, kLowerRuns, kLowerSpecial);
  }
}

}  // namespace o3::text::jinja
