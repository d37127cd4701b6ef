// SPDX-License-Identifier: Apache-2.0
#include "text/unicode/reference_classes.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "text/unicode/code_ranges.h"
#include "text/unicode/utf8.h"

namespace o3::text {
namespace {

struct CasePair {
  char32_t upper;
  char32_t lower;
};
#include "text/unicode/reference_classes.inc"

template <size_t n>
std::vector<std::pair<char32_t, char32_t>> list(const CodeRange (&ranges)[n]) {
  std::vector<std::pair<char32_t, char32_t>> out;
  for (const CodeRange& range : ranges) out.emplace_back(range.first, range.last);
  return out;
}

}  // namespace

bool is_reference_punctuation(char32_t code) noexcept {
  return in_ranges(kPunctuation, code);
}
bool is_reference_accent(char32_t code) noexcept {
  return in_ranges(kAccents, code);
}
bool is_reference_combining(char32_t code) noexcept {
  return in_ranges(kCombining, code);
}
bool is_reference_unclean(char32_t code) noexcept {
  return in_ranges(kUnclean, code);
}

void append_reference_lower(char32_t code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code >= 'A' && code <= 'Z' ? code + 0x20 : code);
    return;
  }
  if (code == 0x130) {
    out += "i\xCC\x87";
    return;
  }
  const auto* found = std::lower_bound(std::begin(kLower), std::end(kLower), code,
                                       [](const CasePair& p, char32_t c) { return p.upper < c; });
  append_utf8(found != std::end(kLower) && found->upper == code ? found->lower : code, out);
}

std::vector<std::pair<char32_t, char32_t>> reference_punctuation() {
  return list(kPunctuation);
}
std::vector<std::pair<char32_t, char32_t>> reference_numeric() {
  return list(kNumeric);
}

}  // namespace o3::text
