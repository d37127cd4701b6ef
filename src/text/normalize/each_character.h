// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "text/normalize/normalizer.h"
#include "text/unicode/utf8.h"

namespace o3::text {

// Calls visit(code, bytes of it, mark) for each character.
template <class Visit>
void for_each_character(const MarkedText& in, Visit visit) {
  const std::string_view text = in.text;
  for (size_t at = 0; at < text.size();) {
    const Utf8Unit unit = next_utf8_unit(text.substr(at));
    visit(unit.code, text.substr(at, unit.bytes), in.marked() && in.marks[at] != 0);
    at += unit.bytes;
  }
}

}  // namespace o3::text
