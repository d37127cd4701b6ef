// SPDX-License-Identifier: Apache-2.0
// Characters of words (\w), Unicode 16.0: Alphabetic, marks, decimal digits, connector punctuation
// (UTS #18, annex C, without the join controls, as the regular expressions of `tokenizers` have
// it).
#pragma once

#include <utility>
#include <vector>

namespace o3::text {

bool is_word(char32_t code) noexcept;

// First and last code points, ascending.
std::vector<std::pair<char32_t, char32_t>> word_ranges();

}  // namespace o3::text
