// SPDX-License-Identifier: Apache-2.0
// What `o3 model inspect` prints about a model's files.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "artifact/gguf/gguf_file.h"
#include "artifact/hf/hf_directory.h"

namespace o3::app {

// {file, format, version, alignment, file_bytes, metadata: {key: value}, tensors: [{name, dtype,
// shape, bytes}], unread: [{name, dtype, shape, problem}], totals: {tensors, elements, bytes,
// by_dtype: [{dtype, tensors, elements, bytes}]}}. Arrays of more than 8 elements become {type,
// count, first}. All strings are well-formed UTF-8, whatever the file holds.
nlohmann::ordered_json describe(const artifact::GgufFile& file);

// The same of a directory: format "safetensors", `files` instead of version and alignment, and as
// metadata the members of config.json ("text_config.hidden_size") and, after "generation.", of
// generation_config.json.
nlohmann::ordered_json describe(const artifact::HfDirectory& directory);

// Either, for people; long strings are cut.
std::string describe_text(const nlohmann::ordered_json& described);

}  // namespace o3::app
