// SPDX-License-Identifier: Apache-2.0
// Normalization forms (UAX #15), with the tables of Unicode 9.0: see
// tools/unicode/normalization.py for why.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace o3::text {

enum class NormalForm : unsigned char { kNfc, kNfd, kNfkc, kNfkd };

// A character on its way through a normalization, with a mark that survives it.
struct MarkedChar {
  char32_t code = 0;
  bool mark = false;  // of a composed character: all its parts were marked
  unsigned char combining_class = 0;
};

// Replaces the characters by their normal form.
void normalize(std::vector<MarkedChar>& chars, NormalForm form);

// True: the well-formed text is in the form already. False: it may be.
bool is_surely_normal(std::string_view text, NormalForm form) noexcept;

// The normal form of a well-formed text.
std::string normalized(std::string_view text, NormalForm form);

}  // namespace o3::text
