// SPDX-License-Identifier: Apache-2.0
#include "loader/convert_tokenizer.h"

#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "artifact/mapped_file.h"
#include "artifact/output_file.h"
#include "loader/gguf_tokenizer.h"
#include "loader/template_source.h"
#include "model/hf/hf_config.h"
#include "text/gguf/tokenizer_export.h"

namespace o3::loader {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using artifact::GgufFile;

Result<void> write_text(const fs::path& path, std::string_view text) {
  O3_ASSIGN(artifact::OutputFile file,
            artifact::OutputFile::create(path, artifact::Overwrite::kNo));
  O3_TRY(file.write(text));
  return file.commit();
}

Result<void> write_json(const fs::path& path, const Json& json, int indent = 2) {
  return write_text(path, json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n");
}

// The ids that end a text, the file's EOS first.
Result<std::vector<int64_t>> end_tokens(const GgufFile& file) {
  std::vector<int64_t> ids;
  for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"}) {
    O3_ASSIGN(const auto id, file.optional<int64_t>(key));
    if (id && (ids.empty() || ids.front() != *id)) ids.push_back(*id);
  }
  O3_ASSIGN(const auto more, file.optional<std::vector<int64_t>>(kStopTokensKey));
  for (const int64_t id : more.value_or(std::vector<int64_t>{})) {
    if (ids.empty() || id != ids.front()) ids.push_back(id);
  }
  return ids;
}

Result<void> write_generation(const GgufFile& file, const fs::path& directory, Json& config) {
  Json generation = Json::object();
  O3_ASSIGN(const auto bos, file.optional<int64_t>("tokenizer.ggml.bos_token_id"));
  if (bos) config["bos_token_id"] = generation["bos_token_id"] = *bos;
  O3_ASSIGN(const std::vector<int64_t> ends, end_tokens(file));
  if (!ends.empty()) {
    const Json eos = ends.size() == 1 ? Json(ends.front()) : Json(ends);
    config["eos_token_id"] = generation["eos_token_id"] = eos;
  }
  return write_json(directory / "generation_config.json", generation);
}

Json tokenizer_config(const text::TokenizerSpec& spec) {
  Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                 {"clean_up_tokenization_spaces", false},
                 {"add_bos_token", spec.add_bos}};
  for (const auto& [name, id] : {std::pair("bos_token", spec.bos), std::pair("eos_token", spec.eos),
                                 std::pair("unk_token", spec.unknown)}) {
    if (id) config[name] = std::string(spec.tokens[static_cast<size_t>(*id)]);
  }
  return config;
}

Result<void> write_templates(const GgufFile& file, const fs::path& directory) {
  O3_ASSIGN(const auto main, file.optional<std::string_view>("tokenizer.chat_template"));
  if (main) O3_TRY(write_text(directory / "chat_template.jinja", *main));
  O3_ASSIGN(const auto tools, file.optional<std::string_view>("tokenizer.chat_template.tool_use"));
  if (!tools) return {};
  std::error_code error;
  fs::create_directory(directory / "additional_chat_templates", error);
  return write_text(directory / "additional_chat_templates" / "tool_use.jinja", *tools);
}

}  // namespace

Result<void> write_hf_tokenizer(const GgufFile& file, const fs::path& directory, Json& config,
                                std::vector<std::string>& notes) {
  O3_TRY(write_generation(file, directory, config));
  O3_TRY(write_templates(file, directory));
  O3_ASSIGN(const auto whole, file.optional<std::string_view>(kTokenizerJsonKey));
  if (whole) {
    O3_ASSIGN(const auto names, file.optional<std::string_view>(kTokenizerConfigKey));
    if (names) O3_TRY(write_text(directory / "tokenizer_config.json", *names));
    return write_text(directory / "tokenizer.json", *whole);
  }
  if (file.find("tokenizer.ggml.model") == nullptr) {
    notes.emplace_back("the file has no tokenizer");
    return {};
  }
  O3_ASSIGN(const text::TokenizerSpec spec, gguf_tokenizer_spec(file));
  const Result<Json> json = text::tokenizer_json(spec);
  if (!json.ok()) {
    notes.push_back("no tokenizer: " + json.error().message);
    return {};
  }
  O3_TRY(write_json(directory / "tokenizer.json", *json, -1));
  return write_json(directory / "tokenizer_config.json", tokenizer_config(spec));
}

Result<void> add_gguf_tokenizer(const artifact::HfDirectory& directory,
                                artifact::GgufWriter& writer, std::vector<std::string>& notes) {
  const auto add_file = [&](const char* name, const char* key) -> Result<bool> {
    std::error_code error;
    if (!fs::exists(directory.path() / name, error)) return false;
    O3_ASSIGN(const artifact::MappedFile file, artifact::MappedFile::open(directory.path() / name));
    writer.add(key, {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()});
    return true;
  };
  O3_ASSIGN(const bool has_tokenizer, add_file("tokenizer.json", kTokenizerJsonKey));
  if (!has_tokenizer) notes.emplace_back("the directory has no tokenizer.json");
  O3_TRY(add_file("tokenizer_config.json", kTokenizerConfigKey));

  O3_ASSIGN(const std::vector<int64_t> ends, model::hf_eos_tokens(directory));
  if (!ends.empty()) {
    writer.add_scalar("tokenizer.ggml.eos_token_id", static_cast<uint32_t>(ends.front()));
    writer.add_array(kStopTokensKey, std::span<const int64_t>(ends));
  }
  const auto templates = read_model_templates(directory.path());
  if (!templates.ok()) {
    if (templates.error().code == Code::kNotFound) return {};
    return templates.error();
  }
  writer.add("tokenizer.chat_template", templates->text);
  if (templates->tool_use) writer.add("tokenizer.chat_template.tool_use", *templates->tool_use);
  return {};
}

}  // namespace o3::loader
