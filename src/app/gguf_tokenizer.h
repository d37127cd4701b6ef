// SPDX-License-Identifier: Apache-2.0
// The tokenizer a GGUF file describes; here because `text` knows no file formats.
#pragma once

#include <memory>

#include "artifact/gguf/gguf_file.h"
#include "base/result.h"
#include "text/tokenizer.h"
#include "text/tokenizer_spec.h"

namespace o3::app {

// Reads tokenizer.ggml.*. The views in the result point into the file.
Result<text::TokenizerSpec> gguf_tokenizer_spec(const artifact::GgufFile& file);

// The tokenizer itself keeps nothing of the file.
Result<std::unique_ptr<text::Tokenizer>> load_gguf_tokenizer(const artifact::GgufFile& file);

}  // namespace o3::app
