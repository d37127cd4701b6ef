// SPDX-License-Identifier: Apache-2.0
#include "text/unicode/category.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace o3::text {
namespace {

// Sorted; each run reaches to the next one's first code point.
constexpr uint32_t kRuns[] = {
#include "text/unicode/category_ranges.inc"
};
constexpr uint32_t kCategoryBits = 5;
constexpr uint32_t kCategoryMask = (1u << kCategoryBits) - 1;

// Code points of one or two UTF-8 bytes, most of most texts, by direct look-up.
constexpr size_t kDirect = 0x800;
constexpr std::array<Category, kDirect> make_direct() {
  std::array<Category, kDirect> table{};
  size_t run = 0;
  for (uint32_t code = 0; code < kDirect; ++code) {
    if (kRuns[run + 1] >> kCategoryBits == code) ++run;
    table[code] = static_cast<Category>(kRuns[run] & kCategoryMask);
  }
  return table;
}
constexpr std::array<Category, kDirect> kDirectTable = make_direct();

}  // namespace

Category category(char32_t code) noexcept {
  if (code < kDirect) return kDirectTable[code];
  if (code > 0x10FFFF) return Category::kCn;
  const uint32_t wanted = static_cast<uint32_t>(code) << kCategoryBits | kCategoryMask;
  const auto* after = std::upper_bound(std::begin(kRuns), std::end(kRuns), wanted);
  return static_cast<Category>(*(after - 1) & kCategoryMask);
}

std::vector<std::pair<char32_t, char32_t>> category_ranges(uint32_t categories) {
  std::vector<std::pair<char32_t, char32_t>> out;
  for (size_t i = 0; i < std::size(kRuns); ++i) {
    if ((categories >> (kRuns[i] & kCategoryMask) & 1u) == 0) continue;
    const char32_t first = kRuns[i] >> kCategoryBits;
    const char32_t last = i + 1 < std::size(kRuns) ? (kRuns[i + 1] >> kCategoryBits) - 1 : 0x10FFFF;
    if (!out.empty() && out.back().second + 1 == first) {
      out.back().second = last;
    } else {
      out.emplace_back(first, last);
    }
  }
  return out;
}

bool is_white_space(char32_t code) noexcept {
  if (code < 0x80) return code == ' ' || (code >= 0x09 && code <= 0x0D);
  if (code == 0x85) return true;
  const Category c = category(code);
  return c == Category::kZs || c == Category::kZl || c == Category::kZp;
}

}  // namespace o3::text
