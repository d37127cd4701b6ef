// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/regex/char_set.h"
#include "text/unicode/utf8.h"

namespace o3::text {

// Code points that no set of a pattern tells apart are one class: the machine's alphabet.
class CharClasses {
 public:
  // kUnsupported: more than 255 classes.
  static Result<CharClasses> build(std::span<const CharSet> sets);

  size_t count() const noexcept { return members_.size(); }
  bool member(size_t char_class, size_t set) const noexcept { return members_[char_class][set]; }

  struct Char {
    uint8_t char_class = 0;
    uint8_t bytes = 0;
  };
  // Of the character at `at`, inside well-formed text.
  Char at(std::string_view text, size_t at) const noexcept {
    const auto byte = static_cast<uint8_t>(text[at]);
    if (byte < ascii_.size()) return {ascii_[byte], 1};
    const Utf8Unit unit = next_utf8_unit(text.substr(at));
    return {pages_[page_of_[unit.code >> kPageBits]][unit.code & kPageMask], unit.bytes};
  }

 private:
  static constexpr uint32_t kPageBits = 8;
  static constexpr uint32_t kPageMask = (1u << kPageBits) - 1;
  using Page = std::array<uint8_t, 1u << kPageBits>;

  void fill(std::span<const std::pair<char32_t, uint8_t>> runs);

  std::vector<std::vector<bool>> members_;  // [class][set]
  std::array<uint8_t, 128> ascii_{};
  std::vector<uint16_t> page_of_;
  std::vector<Page> pages_;
};

}  // namespace o3::text
