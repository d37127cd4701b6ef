// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "artifact/output_file.h"
#include "base/result.h"

namespace o3::loader {

struct ConvertOptions {
  std::filesystem::path from;
  std::filesystem::path to;
  artifact::Overwrite overwrite = artifact::Overwrite::kNo;
  artifact::KeepGoing keep_going{};        // false: nothing is written, kCancelled
  int64_t shard_bytes = int64_t{5} << 30;  // of safetensors; transformers' own default
};

struct ConvertResult {
  std::string format;  // of what was written: "gguf" or "safetensors"
  int64_t tensors = 0;
  int64_t widened = 0;             // quantised tensors that became BF16
  std::vector<std::string> notes;  // what was left out, and why
};

// A GGUF file becomes a Hugging Face directory, and the other way, with tokenizer and chat
// templates, so that the result can be served. The result appears whole or not at all.
Result<ConvertResult> convert_model(const ConvertOptions& options);

}  // namespace o3::loader
