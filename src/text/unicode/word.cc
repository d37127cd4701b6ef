// SPDX-License-Identifier: Apache-2.0
#include "text/unicode/word.h"

#include <cstdint>

#include "text/unicode/category.h"

namespace o3::text {
namespace {

constexpr uint32_t bit(Category c) {
  return 1u << static_cast<uint32_t>(c);
}
constexpr uint32_t kWordCategories = bit(Category::kLl) | bit(Category::kLm) | bit(Category::kLo) |
                                     bit(Category::kLt) | bit(Category::kLu) | bit(Category::kMc) |
                                     bit(Category::kMe) | bit(Category::kMn) | bit(Category::kNd) |
                                     bit(Category::kNl) | bit(Category::kPc);

// Symbols with the property Alphabetic: circled, squared and negative letters.
constexpr std::pair<char32_t, char32_t> kAlphabeticSymbols[] = {
    {0x24B6, 0x24E9}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};

}  // namespace

bool is_word(char32_t code) noexcept {
  if (code < 0x80) {
    return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') ||
           (code >= '0' && code <= '9') || code == '_';
  }
  if ((kWordCategories >> static_cast<uint32_t>(category(code)) & 1u) != 0) return true;
  for (const auto& [first, last] : kAlphabeticSymbols) {
    if (code >= first && code <= last) return true;
  }
  return false;
}

std::vector<std::pair<char32_t, char32_t>> word_ranges() {
  auto ranges = category_ranges(kWordCategories);
  ranges.insert(ranges.end(), std::begin(kAlphabeticSymbols), std::end(kAlphabeticSymbols));
  return ranges;
}

}  // namespace o3::text
