// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace o3::text {

inline constexpr std::string_view kMetaspace = "\xE2\x96\x81";  // U+2581, SentencePiece's space

// Nothing but spaces (either kind), tabs and line ends.
inline bool is_spacing(std::string_view text) noexcept {
  while (!text.empty()) {
    if (text.starts_with(kMetaspace)) {
      text.remove_prefix(kMetaspace.size());
    } else if (std::string_view(" \t\n\r").find(text[0]) != std::string_view::npos) {
      text.remove_prefix(1);
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace o3::text
