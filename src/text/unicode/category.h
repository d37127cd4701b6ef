// SPDX-License-Identifier: Apache-2.0
// General categories of code points, Unicode 16.0 (UAX #44), as pre-tokenisers ask for them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace o3::text {

// The order is that of tools/unicode/generate.py.
enum class Category : uint8_t {
  kCn,
  kCc,
  kCf,
  kCo,
  kCs,
  kLl,
  kLm,
  kLo,
  kLt,
  kLu,
  kMc,
  kMe,
  kMn,
  kNd,
  kNl,
  kNo,
  kPc,
  kPd,
  kPe,
  kPf,
  kPi,
  kPo,
  kPs,
  kSc,
  kSk,
  kSm,
  kSo,
  kZl,
  kZp,
  kZs,
};

// Values beyond U+10FFFF are kCn.
Category category(char32_t code) noexcept;

inline bool is_letter(Category c) noexcept {
  return c >= Category::kLl && c <= Category::kLu;
}
inline bool is_number(Category c) noexcept {
  return c >= Category::kNd && c <= Category::kNo;
}

// First and last code points, ascending, of the categories whose bits (1 << category) are set.
std::vector<std::pair<char32_t, char32_t>> category_ranges(uint32_t categories);

// The property White_Space, which regular expressions call \s.
bool is_white_space(char32_t code) noexcept;

}  // namespace o3::text
