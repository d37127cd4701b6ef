// SPDX-License-Identifier: Apache-2.0
// The tokenizer of a Hugging Face directory, or of any file that has one.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/result.h"
#include "text/hf/tokenizer_json.h"
#include "text/tokenizer.h"

namespace o3::loader {

// Reads tokenizer.json and, where they are, tokenizer_config.json and special_tokens_map.json.
Result<std::unique_ptr<text::Tokenizer>> load_hf_tokenizer(const std::filesystem::path& directory);

// The text of a tokenizer.json, bounded as all JSON of files is.
Result<nlohmann::json> read_tokenizer_json(std::string_view text);

// What the text of a tokenizer_config.json says about BOS and EOS.
Result<text::TokenizerNames> read_tokenizer_names(std::string_view config);

// A directory, a tokenizer.json, or a GGUF file.
Result<std::unique_ptr<text::Tokenizer>> load_any_tokenizer(const std::filesystem::path& path);

}  // namespace o3::loader
