// SPDX-License-Identifier: Apache-2.0
// The printable alphabet in which byte-level BPE vocabularies are written (GPT-2, Radford et al.
// 2019): each byte is one character, bytes that would not print are moved to U+0100 and up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace o3::text {

// Appends the bytes that `piece` stands for; false (and nothing appended) if a character is not in
// the alphabet.
bool append_alphabet_bytes(std::string_view piece, std::string& out);

// The character that stands for a byte.
char32_t alphabet_character(uint8_t byte) noexcept;

}  // namespace o3::text
