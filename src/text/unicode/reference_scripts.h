// SPDX-License-Identifier: Apache-2.0
// Scripts as the UnicodeScripts pre-tokenizer of Hugging Face's `tokenizers` 0.23 tells them apart
// (tools/unicode/reference_classes.py): Hiragana and Katakana count as Han.
#pragma once

#include <cstdint>

namespace o3::text {

// A number of the script; 0: of any (spaces, unassigned code points).
uint8_t reference_script(char32_t code) noexcept;

}  // namespace o3::text
