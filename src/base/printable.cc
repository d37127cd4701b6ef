// SPDX-License-Identifier: Apache-2.0
#include "base/printable.h"

#include <algorithm>

namespace o3 {
namespace {

void append_escaped(std::string& out, unsigned char byte) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
}

bool is_ascii_control(unsigned char byte) {
  return byte < 0x20 || byte == 0x7f;
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr size_t kLimit = 80;
  std::string out;
  for (const char c : text.substr(0, kLimit)) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_ascii_control(byte) || byte > 0x7f) {
      append_escaped(out, byte);
    } else {
      out += c;
    }
  }
  if (text.size() > kLimit) out += "...";
  return out;
}

std::string list_of(std::span<const std::string> parts, std::string_view separator) {
  constexpr size_t kLimit = 8;
  std::string text;
  for (const std::string& part : parts.first(std::min(parts.size(), kLimit))) {
    if (!text.empty()) text += separator;
    text += part;
  }
  if (parts.size() > kLimit) text += " and " + std::to_string(parts.size() - kLimit) + " more";
  return text;
}

void append_line(std::string& out, std::string_view text) {
  constexpr size_t kLimit = 4096;
  unsigned char before = 0;
  for (const char c : text.substr(0, kLimit)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool c1 = before == 0xc2 && byte < 0xa0 && byte >= 0x80;  // U+0080 to U+009F
    if (is_ascii_control(byte) || c1) {
      append_escaped(out, byte);
    } else {
      out += c;
    }
    before = byte;
  }
  if (text.size() > kLimit) out += "...";
}

}  // namespace o3
