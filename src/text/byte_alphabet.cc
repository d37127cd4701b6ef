// SPDX-License-Identifier: Apache-2.0
#include "text/byte_alphabet.h"

#include <array>

#include "text/unicode/utf8.h"

namespace o3::text {
namespace {

constexpr bool stands_for_itself(uint32_t byte) noexcept {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) ||
         (byte >= 0xAE && byte <= 0xFF);
}

constexpr char32_t kMovedTo = 0x100;
constexpr size_t kMoved = 68;

struct Alphabet {
  std::array<char32_t, 256> character{};
  std::array<uint8_t, kMoved> moved{};  // byte of the character U+0100 + index
};
constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  size_t moved = 0;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    if (stands_for_itself(byte)) {
      alphabet.character[byte] = byte;
    } else {
      alphabet.character[byte] = kMovedTo + static_cast<char32_t>(moved);
      alphabet.moved[moved++] = static_cast<uint8_t>(byte);
    }
  }
  return alphabet;
}
constexpr Alphabet kAlphabet = make_alphabet();
static_assert(kAlphabet.character[' '] == 0x120);

}  // namespace

char32_t alphabet_character(uint8_t byte) noexcept {
  return kAlphabet.character[byte];
}

bool append_alphabet_bytes(std::string_view piece, std::string& out) {
  const size_t before = out.size();
  while (!piece.empty()) {
    const auto first = static_cast<uint8_t>(piece[0]);
    if (first < 0x80 && stands_for_itself(first)) {
      out += piece[0];
      piece.remove_prefix(1);
      continue;
    }
    const Utf8Unit unit = next_utf8_unit(piece);
    piece.remove_prefix(unit.bytes);
    if (unit.well_formed && unit.code < 0x100 && stands_for_itself(unit.code)) {
      out += static_cast<char>(unit.code);
    } else if (unit.well_formed && unit.code >= kMovedTo && unit.code < kMovedTo + kMoved) {
      out += static_cast<char>(kAlphabet.moved[unit.code - kMovedTo]);
    } else {
      out.resize(before);
      return false;
    }
  }
  return true;
}

}  // namespace o3::text
