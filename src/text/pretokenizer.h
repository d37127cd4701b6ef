// SPDX-License-Identifier: Apache-2.0
// Cuts text into the pieces within which BPE merges.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace o3::text {

// Length in bytes of the first piece of a text, which is well-formed UTF-8 and not empty. Pieces
// are found one after the other; the rest of the text is seen as look-ahead.
using FirstPiece = size_t (*)(std::string_view text);

// By GGUF's tokenizer.ggml.pre; kUnsupported lists the known names.
Result<FirstPiece> pretokenizer(std::string_view name);

// "smollm": every number character (\p{N}) alone; between them GPT-2's pattern
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// (Hugging Face: Sequence[Digits(individual_digits), ByteLevel(use_regex)]).
size_t first_piece_smollm(std::string_view text);

}  // namespace o3::text
