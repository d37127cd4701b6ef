// SPDX-License-Identifier: Apache-2.0
#include "text/regex/char_set.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "text/unicode/category.h"
#include "text/unicode/word.h"

namespace o3::text {
namespace {

constexpr char32_t kLast = 0x10FFFF;

// In the order of enum class Category.
constexpr std::array<std::string_view, 30> kNames = {
    "Cn", "Cc", "Cf", "Co", "Cs", "Ll", "Lm", "Lo", "Lt", "Lu", "Mc", "Me", "Mn", "Nd", "Nl",
    "No", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "Sc", "Sk", "Sm", "So", "Zl", "Zp", "Zs"};

bool is_ascii_letter(char32_t c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

CharSet::CharSet(std::vector<Range> ranges) : ranges_(std::move(ranges)) {
  normalize();
}

void CharSet::add(const CharSet& other) {
  ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end());
}

void CharSet::normalize() {
  std::sort(ranges_.begin(), ranges_.end());
  size_t kept = 0;
  for (const Range& range : ranges_) {
    if (kept > 0 && range.first <= ranges_[kept - 1].second + 1) {
      ranges_[kept - 1].second = std::max(ranges_[kept - 1].second, range.second);
    } else {
      ranges_[kept++] = range;
    }
  }
  ranges_.resize(kept);
}

void CharSet::complement() {
  std::vector<Range> gaps;
  char32_t next = 0;
  for (const Range& range : ranges_) {
    if (range.first > next) gaps.emplace_back(next, range.first - 1);
    next = range.second + 1;
  }
  if (next <= kLast) gaps.emplace_back(next, kLast);
  ranges_ = std::move(gaps);
}

bool CharSet::fold_case() {
  std::vector<Range> more;
  for (const Range& range : ranges_) {
    for (char32_t c = range.first; c <= std::min<char32_t>(range.second, 0x7F); ++c) {
      if (!is_ascii_letter(c)) continue;
      more.emplace_back(c ^ 0x20, c ^ 0x20);
      if ((c | 0x20) == 's') more.emplace_back(0x17F, 0x17F);
      if ((c | 0x20) == 'k') more.emplace_back(0x212A, 0x212A);
    }
    if (range.second > 0x7F) {
      for (char32_t c = std::max<char32_t>(range.first, 0x80); c <= range.second; ++c) {
        if (is_letter(category(c))) return false;
      }
    }
  }
  ranges_.insert(ranges_.end(), more.begin(), more.end());
  normalize();
  return true;
}

bool CharSet::contains(char32_t code) const noexcept {
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), code,
                       [](char32_t c, const Range& range) { return c < range.first; });
  return after != ranges_.begin() && code <= (after - 1)->second;
}

bool CharSet::overlaps(const CharSet& other) const noexcept {
  auto a = ranges_.begin();
  auto b = other.ranges_.begin();
  while (a != ranges_.end() && b != other.ranges_.end()) {
    if (a->second < b->first) {
      ++a;
    } else if (b->second < a->first) {
      ++b;
    } else {
      return true;
    }
  }
  return false;
}

std::optional<CharSet> CharSet::property(std::string_view name) {
  if (name.empty() || name.size() > 2) return std::nullopt;
  uint32_t mask = 0;
  for (uint32_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i].starts_with(name)) mask |= 1u << i;
  }
  if (mask == 0) return std::nullopt;
  return CharSet(category_ranges(mask));
}

CharSet CharSet::white_space() {
  return CharSet({{0x09, 0x0D},
                  {0x20, 0x20},
                  {0x85, 0x85},
                  {0xA0, 0xA0},
                  {0x1680, 0x1680},
                  {0x2000, 0x200A},
                  {0x2028, 0x2029},
                  {0x202F, 0x202F},
                  {0x205F, 0x205F},
                  {0x3000, 0x3000}});
}

CharSet CharSet::word() {
  return CharSet(word_ranges());
}

}  // namespace o3::text
