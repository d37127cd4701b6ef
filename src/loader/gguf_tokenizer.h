// SPDX-License-Identifier: Apache-2.0
// The tokenizer a GGUF file describes; here because `text` knows no file formats.
#pragma once

#include <cstdint>
#include <memory>

#include "artifact/gguf/gguf_file.h"
#include "base/result.h"
#include "text/tokenizer.h"
#include "text/tokenizer_spec.h"

namespace o3::loader {

// GGUF's own key for a whole tokenizer.json, and ours for the tokenizer_config.json beside it and
// for more end tokens than GGUF has names for; `o3 model convert` writes them.
inline constexpr const char* kTokenizerJsonKey = "tokenizer.huggingface.json";
inline constexpr const char* kTokenizerConfigKey = "o3.tokenizer_config";
inline constexpr const char* kStopTokensKey = "o3.stop_token_ids";

// kInvalid: one of the ids that the file names (BOS, EOS, padding and so on) is no token.
Result<void> check_named_tokens(const artifact::GgufFile& file, int64_t vocabulary);

// Reads tokenizer.ggml.*. The views in the result point into the file.
Result<text::TokenizerSpec> gguf_tokenizer_spec(const artifact::GgufFile& file);

// From a whole tokenizer.json where the file has one, or else from tokenizer.ggml.*. The tokenizer
// itself keeps nothing of it. kInvalid: the file names a token outside the vocabulary.
Result<std::unique_ptr<text::Tokenizer>> load_gguf_tokenizer(const artifact::GgufFile& file);

}  // namespace o3::loader
