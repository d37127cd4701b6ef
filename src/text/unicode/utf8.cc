// SPDX-License-Identifier: Apache-2.0
#include "text/unicode/utf8.h"

#include <cstddef>
#include <cstring>

namespace o3::text {
namespace {

// What a lead byte asks for: how many bytes, and the range of the second one (Table 3-7 narrows
// it after E0, ED, F0 and F4; later bytes are always 80..BF).
struct Lead {
  uint8_t bytes;  // 0: not a lead byte
  uint8_t low;
  uint8_t high;
};

constexpr Lead lead_of(uint8_t byte) noexcept {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

constexpr char32_t kReplacementCode = 0xFFFD;

constexpr char32_t lead_bits(uint8_t byte, uint8_t bytes) noexcept {
  return bytes == 1 ? byte : byte & (0x7Fu >> bytes);
}

}  // namespace

Utf8Unit next_utf8_unit(std::string_view text) noexcept {
  const auto first = static_cast<uint8_t>(text[0]);
  const Lead lead = lead_of(first);
  if (lead.bytes == 0) return {kReplacementCode, 1, false, false};
  char32_t code = lead_bits(first, lead.bytes);
  uint8_t low = lead.low;
  uint8_t high = lead.high;
  for (uint8_t i = 1; i < lead.bytes; ++i) {
    if (i == text.size()) return {kReplacementCode, i, false, true};
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte < low || byte > high) return {kReplacementCode, i, false, false};
    code = code << 6 | (byte & 0x3Fu);
    low = 0x80;
    high = 0xBF;
  }
  return {code, lead.bytes, true, false};
}

bool is_utf8(std::string_view text) noexcept {
  constexpr uint64_t kHighBits = 0x8080808080808080u;
  while (!text.empty()) {
    uint64_t eight = kHighBits;
    if (text.size() >= sizeof eight) std::memcpy(&eight, text.data(), sizeof eight);
    if ((eight & kHighBits) == 0) {  // most of most texts
      text.remove_prefix(sizeof eight);
      continue;
    }
    const Utf8Unit unit = next_utf8_unit(text);
    if (!unit.well_formed) return false;
    text.remove_prefix(unit.bytes);
  }
  return true;
}

std::string repaired_utf8(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Unit unit = next_utf8_unit(text);
    out += unit.well_formed ? text.substr(0, unit.bytes) : kReplacementCharacter;
    text.remove_prefix(unit.bytes);
  }
  return out;
}

void append_utf8(char32_t code, std::string& out) {
  const auto put = [&out](char32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

}  // namespace o3::text
