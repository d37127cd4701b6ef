// SPDX-License-Identifier: Apache-2.0
// Tokenizer, special tokens and chat templates in the other kind of file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "artifact/gguf/gguf_file.h"
#include "artifact/gguf/gguf_writer.h"
#include "artifact/hf/hf_directory.h"
#include "base/result.h"

namespace o3::loader {

// Writes tokenizer.json, tokenizer_config.json, chat templates and generation_config.json, and adds
// bos_token_id and eos_token_id to `config`. A tokenizer that tokenizer.json cannot say is left
// out, with a note.
Result<void> write_hf_tokenizer(const artifact::GgufFile& file,
                                const std::filesystem::path& directory,
                                nlohmann::ordered_json& config, std::vector<std::string>& notes);

// The whole tokenizer.json and tokenizer_config.json as texts, tokenizer.ggml.* where GGUF has
// words for the tokenizer (else a note), the ids that the directory names, the templates. `rows` of
// the embedding. kInvalid: a named id is none of them.
Result<void> add_gguf_tokenizer(const artifact::HfDirectory& directory, int64_t rows,
                                artifact::GgufWriter& writer, std::vector<std::string>& notes);

}  // namespace o3::loader
