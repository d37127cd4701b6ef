// SPDX-License-Identifier: Apache-2.0
// The tokenizer of a Hugging Face directory, or of any file that has one.
#pragma once

#include <filesystem>
#include <memory>

#include "base/result.h"
#include "text/tokenizer.h"

namespace o3::app {

// Reads tokenizer.json and, where they are, tokenizer_config.json and special_tokens_map.json.
Result<std::unique_ptr<text::Tokenizer>> load_hf_tokenizer(const std::filesystem::path& directory);

// A directory, a tokenizer.json, or a GGUF file.
Result<std::unique_ptr<text::Tokenizer>> load_any_tokenizer(const std::filesystem::path& path);

}  // namespace o3::app
