// SPDX-License-Identifier: Apache-2.0
#include "loader/hf_tokenizer.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "artifact/gguf/gguf_file.h"
#include "artifact/json_file.h"
#include "artifact/mapped_file.h"
#include "config/json_reader.h"
#include "loader/gguf_tokenizer.h"
#include "loader/token_text.h"
#include "text/hf/tokenizer_json.h"

namespace o3::loader {
namespace {

namespace fs = std::filesystem;

std::string_view text_of(const artifact::MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

std::optional<std::string> token_name(const nlohmann::json& config, const char* key) {
  const auto found = config.find(key);
  return found == config.end() ? std::nullopt : token_text(*found);
}

config::JsonLimits limits() {
  config::JsonLimits limits;
  limits.bytes = 64 << 20;
  limits.values = 4'000'000;
  return limits;
}

// An object, empty where there is no such file.
Result<nlohmann::json> read_object(const fs::path& path) {
  O3_ASSIGN(const bool there, artifact::is_there(path));
  if (!there) return nlohmann::json::object();
  return artifact::read_json_file(path, limits());
}

text::TokenizerNames names_of(const nlohmann::json& config, const nlohmann::json& map) {
  text::TokenizerNames names;
  names.bos = token_name(config.contains("bos_token") ? config : map, "bos_token");
  names.eos = token_name(config.contains("eos_token") ? config : map, "eos_token");
  const auto add = config.find("add_bos_token");
  if (add != config.end() && add->is_boolean()) names.add_bos = add->get<bool>();
  if (!names.bos) names.add_bos.reset();
  return names;
}

Result<text::TokenizerNames> read_names(const fs::path& directory) {
  O3_ASSIGN(const auto config, read_object(directory / "tokenizer_config.json"));
  O3_ASSIGN(const auto map, read_object(directory / "special_tokens_map.json"));
  return names_of(config, map);
}

Result<std::unique_ptr<text::Tokenizer>> load_json_file(const fs::path& path) {
  O3_ASSIGN(const text::TokenizerNames names, read_names(path.parent_path()));
  O3_ASSIGN(const artifact::MappedFile file, artifact::MappedFile::open(path));
  auto loaded = text::load_tokenizer_json(text_of(file), names);
  if (loaded.ok()) return loaded;
  Error problem = std::move(loaded).error();
  problem.message = path.string() + ": " + problem.message;
  return problem;
}

}  // namespace

Result<nlohmann::json> read_tokenizer_json(std::string_view text) {
  O3_ASSIGN(nlohmann::json json, config::read_json(text, limits()));
  if (!json.is_object()) return invalid("tokenizer.json holds no JSON object");
  return json;
}

Result<text::TokenizerNames> read_tokenizer_names(std::string_view config) {
  O3_ASSIGN(const nlohmann::json json, config::read_json(config, limits()));
  if (!json.is_object()) return invalid("the tokenizer's configuration is no JSON object");
  return names_of(json, nlohmann::json::object());
}

Result<std::unique_ptr<text::Tokenizer>> load_hf_tokenizer(const fs::path& directory) {
  return load_json_file(directory / "tokenizer.json");
}

Result<std::unique_ptr<text::Tokenizer>> load_any_tokenizer(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return load_hf_tokenizer(path);
  if (path.extension() == ".json") return load_json_file(path);
  O3_ASSIGN(const artifact::GgufFile file, artifact::GgufFile::open(path));
  return load_gguf_tokenizer(file);
}

}  // namespace o3::loader
