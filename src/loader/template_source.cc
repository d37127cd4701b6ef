// SPDX-License-Identifier: Apache-2.0
#include "loader/template_source.h"

#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "artifact/gguf/gguf_file.h"
#include "artifact/mapped_file.h"
#include "loader/gguf_tokenizer.h"
#include "loader/token_text.h"
#include "text/jinja/json_input.h"

namespace o3::loader {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr size_t kMaxFileBytes = 64u << 20;

Result<std::string> read_file(const fs::path& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error) && fs::file_size(path, error) == 0) return std::string();
  O3_ASSIGN(const artifact::MappedFile file, artifact::MappedFile::open(path));
  if (file.bytes().size() > kMaxFileBytes) {
    return Error{Code::kTooLong, path.string() + " is larger than 64 MiB", {}};
  }
  return std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
}

// Everything that is named ..._token and has a text.
void take_tokens(const Json& from, Json& variables) {
  for (const auto& [name, token] : from.items()) {
    if (!name.ends_with("_token") || variables.contains(name)) continue;
    if (auto text = token_text(token)) variables[name] = *std::move(text);
  }
}

// [{"name": ..., "template": ...}, ...]
void take_named(const Json& list, std::optional<std::string>& main, TemplateSource& source) {
  for (const Json& entry : list) {
    if (!entry.is_object()) continue;
    const auto name = entry.find("name");
    const auto text = entry.find("template");
    if (name == entry.end() || text == entry.end() || !text->is_string()) continue;
    if (*name == "default") main = text->get<std::string>();
    if (*name == "tool_use") source.tool_use = text->get<std::string>();
  }
}

Error no_template(const fs::path& path) {
  return Error{Code::kNotFound, path.string() + " has no chat template", {}};
}

Result<TemplateSource> read_directory(const fs::path& path) {
  TemplateSource source;
  std::optional<std::string> main;
  O3_ASSIGN(const Json config, read_json_object(path / "tokenizer_config.json"));
  O3_ASSIGN(const Json map, read_json_object(path / "special_tokens_map.json"));
  take_tokens(config, source.variables);
  take_tokens(map, source.variables);
  O3_ASSIGN(const bool has_file, artifact::is_there(path / "chat_template.jinja"));
  if (has_file) {
    O3_ASSIGN(main, read_file(path / "chat_template.jinja"));
    const fs::path other = path / "additional_chat_templates" / "tool_use.jinja";
    O3_ASSIGN(const bool has_other, artifact::is_there(other));
    if (has_other) {
      O3_ASSIGN(source.tool_use, read_file(other));
    }
  } else if (const auto found = config.find("chat_template"); found != config.end()) {
    if (found->is_string()) main = found->get<std::string>();
    if (found->is_array()) take_named(*found, main, source);
  }
  if (!main) return no_template(path);
  source.text = *std::move(main);
  return source;
}

// Ids under GGUF's names, as variables under Hugging Face's.
Result<void> take_gguf_tokens(const artifact::GgufFile& file, Json& variables) {
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"bos_token", "bos"},       {"eos_token", "eos"},     {"unk_token", "unknown"},
      {"sep_token", "seperator"}, {"pad_token", "padding"}, {"cls_token", "cls"},
      {"mask_token", "mask"}};
  O3_ASSIGN(const auto tokens, file.optional<artifact::StringArray>("tokenizer.ggml.tokens"));
  if (!tokens) return {};
  for (const auto& [variable, name] : kNames) {
    const std::string key = "tokenizer.ggml." + std::string(name) + "_token_id";
    O3_ASSIGN(const auto id, file.optional<int64_t>(key));
    if (!id || *id < 0 || static_cast<uint64_t>(*id) >= tokens->size()) continue;
    variables[variable] = std::string(*std::next(tokens->begin(), *id));
  }
  return {};
}

Result<TemplateSource> read_gguf(const fs::path& path) {
  O3_ASSIGN(const artifact::GgufFile file, artifact::GgufFile::open(path));
  TemplateSource source;
  O3_ASSIGN(const auto main, file.optional<std::string>("tokenizer.chat_template"));
  if (!main) return no_template(path);
  source.text = *main;
  O3_ASSIGN(source.tool_use, file.optional<std::string>("tokenizer.chat_template.tool_use"));
  O3_TRY(take_gguf_tokens(file, source.variables));
  O3_ASSIGN(const auto config, file.optional<std::string>(kTokenizerConfigKey));
  if (config) {
    O3_ASSIGN(const Json json, text::read_template_json(*config));
    if (json.is_object()) take_tokens(json, source.variables);
  }
  return source;
}

}  // namespace

Result<Json> read_json_object(const fs::path& path) {
  O3_ASSIGN(const bool there, artifact::is_there(path));
  if (!there) return Json::object();
  O3_ASSIGN(const std::string text, read_file(path));
  auto json = text::read_template_json(text);
  if (!json.ok()) return invalid(path.string() + ": " + json.error().message);
  if (!json->is_object()) return invalid(path.string() + " does not hold a JSON object");
  return *std::move(json);
}

Result<TemplateSource> read_model_templates(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error) ? read_directory(path) : read_gguf(path);
}

Result<TemplateSource> read_template_file(const fs::path& path) {
  TemplateSource source;
  O3_ASSIGN(source.text, read_file(path));
  return source;
}

}  // namespace o3::loader
