// SPDX-License-Identifier: Apache-2.0
// The chat templates that come with a model, in a Hugging Face directory or a GGUF file.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/result.h"

namespace o3::loader {

struct TemplateSource {
  std::string text;
  std::optional<std::string> tool_use;  // the model's other template, for requests with tools
  // bos_token and its like, as far as the model names them.
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();
};

// A directory: chat_template.jinja (and additional_chat_templates/tool_use.jinja) before the
// chat_template of tokenizer_config.json, which may be a list of named ones; tokens from there or
// from special_tokens_map.json. A GGUF file: tokenizer.chat_template[.tool_use] and the token ids.
// kNotFound where the model has no chat template.
Result<TemplateSource> read_model_templates(const std::filesystem::path& path);

// The object that a file of a model holds, bounded; empty where there is no such file.
Result<nlohmann::ordered_json> read_json_object(const std::filesystem::path& path);

// A template alone: no variables.
Result<TemplateSource> read_template_file(const std::filesystem::path& path);

}  // namespace o3::loader
