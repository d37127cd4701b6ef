// SPDX-License-Identifier: Apache-2.0
// Internal to unicode: tables of code points as ranges, ascending.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace o3::text {

struct CodeRange {
  char32_t first;
  char32_t last;
};

template <size_t n>
bool in_ranges(const CodeRange (&ranges)[n], char32_t code) noexcept {
  const auto* after = std::upper_bound(std::begin(ranges), std::end(ranges), code,
                                       [](char32_t c, const CodeRange& r) { return c < r.first; });
  return after != std::begin(ranges) && code <= (after - 1)->last;
}

}  // namespace o3::text
