// SPDX-License-Identifier: Apache-2.0
// Classes of characters where Hugging Face's `tokenizers` 0.23 follows older or newer tables than
// Unicode 16; tools/unicode/reference_classes.py says which and reads them off.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace o3::text {

bool is_reference_punctuation(char32_t code) noexcept;  // ASCII symbols too
bool is_reference_accent(char32_t code) noexcept;       // nonspacing marks, as for BERT
bool is_reference_combining(char32_t code) noexcept;    // marks, as for StripAccents
bool is_reference_unclean(char32_t code) noexcept;      // controls and what BERT leaves out
void append_reference_lower(char32_t code, std::string& out);

std::vector<std::pair<char32_t, char32_t>> reference_punctuation();
std::vector<std::pair<char32_t, char32_t>> reference_numeric();

}  // namespace o3::text
