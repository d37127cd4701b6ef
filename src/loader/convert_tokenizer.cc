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
#include "loader/gguf_vocabulary.h"
#include "loader/hf_tokenizer.h"
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

std::string dump(const Json& json, int indent = 2) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Result<void> write_json(const fs::path& path, const Json& json, int indent = 2) {
  return write_text(path, dump(json, indent) + "\n");
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
  for (const auto& [key, name] : {std::pair("tokenizer.ggml.bos_token_id", "bos_token_id"),
                                  std::pair("tokenizer.ggml.padding_token_id", "pad_token_id")}) {
    O3_ASSIGN(const auto id, file.optional<int64_t>(key));
    if (id) config[name] = generation[name] = *id;
  }
  O3_ASSIGN(const std::vector<int64_t> ends, end_tokens(file));
  if (!ends.empty()) {
    const Json eos = ends.size() == 1 ? Json(ends.front()) : Json(ends);
    config["eos_token_id"] = generation["eos_token_id"] = eos;
  }
  return write_json(directory / "generation_config.json", generation);
}

Json tokenizer_config(const text::TokenizerSpec& spec, std::optional<Token> pad) {
  Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                 {"clean_up_tokenization_spaces", false},
                 {"add_bos_token", spec.add_bos}};
  for (const auto& [name, id] :
       {std::pair("bos_token", spec.bos), std::pair("eos_token", spec.eos),
        std::pair("unk_token", spec.unknown), std::pair("pad_token", pad)}) {
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

// Ids as config.json and generation_config.json name them, completed by the tokenizer's own names.
struct NamedTokens {
  int64_t bos = -1;  // none
  int64_t pad = -1;
  std::vector<int64_t> ends;
};

Result<int64_t> first_of(const artifact::HfDirectory& directory, const char* name) {
  O3_ASSIGN(const std::vector<int64_t> ids, model::hf_token_ids(directory, name));
  return ids.empty() ? -1 : ids.front();
}

// tokenizer_config.json, with what only special_tokens_map.json names.
Result<Json> merged_names(const fs::path& directory) {
  Json merged = Json::object();
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json"}) {
    O3_ASSIGN(const Json json, read_json_object(directory / name));
    for (const auto& [key, value] : json.items()) {
      if (!merged.contains(key)) merged[key] = value;
    }
  }
  return merged;
}

Result<void> add_vocabulary(const fs::path& directory, std::string_view text, const Json& names,
                            int64_t rows, NamedTokens& named, artifact::GgufWriter& writer,
                            std::vector<std::string>& notes) {
  const auto tokenizer = load_hf_tokenizer(directory);
  if (!tokenizer.ok()) return tokenizer.error();
  const auto id_of = [&](const char* name) -> std::optional<int64_t> {
    const auto found = names.find(name);
    const auto said = found == names.end() ? std::nullopt : token_text(*found);
    const auto id = said ? (*tokenizer)->find(*said) : std::nullopt;
    return id ? std::optional<int64_t>(*id) : std::nullopt;
  };
  named.bos = (*tokenizer)->bos().value_or(static_cast<Token>(named.bos));
  named.pad = id_of("pad_token").value_or(named.pad);
  if (named.ends.empty() && (*tokenizer)->eos()) named.ends.push_back(*(*tokenizer)->eos());
  const std::optional<Token> end = named.ends.empty()
                                       ? std::optional<Token>{}
                                       : std::optional(static_cast<Token>(named.ends.front()));
  const auto vocabulary = gguf_vocabulary(text, **tokenizer, end, rows);
  if (vocabulary.ok()) {
    vocabulary->add_to(writer);
    const std::vector<Token> after = (*tokenizer)->frame().after;
    writer.add_scalar("tokenizer.ggml.add_eos_token",
                      end.has_value() && after == std::vector<Token>{*end});
    return {};
  }
  if (vocabulary.error().code != Code::kUnsupported) return vocabulary.error();
  notes.push_back("no tokenizer.ggml.*, so that only programs that read " +
                  std::string(kTokenizerJsonKey) +
                  " find a tokenizer: " + vocabulary.error().message);
  return {};
}

void add_ids(const NamedTokens& named, artifact::GgufWriter& writer) {
  const auto add = [&writer](const char* key, int64_t id) {
    writer.add_scalar(key, static_cast<uint32_t>(id));
  };
  if (named.bos >= 0) add("tokenizer.ggml.bos_token_id", named.bos);
  if (named.pad >= 0) add("tokenizer.ggml.padding_token_id", named.pad);
  if (named.ends.empty()) return;
  add("tokenizer.ggml.eos_token_id", named.ends.front());
  writer.add_array(kStopTokensKey, std::span<const int64_t>(named.ends));
}

}  // namespace

Result<void> write_hf_tokenizer(const GgufFile& file, const fs::path& directory, Json& config,
                                std::vector<std::string>& notes) {
  O3_TRY(check_named_tokens(file, config["vocab_size"].get<int64_t>()));
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
  O3_ASSIGN(const auto pad, file.optional<Token>("tokenizer.ggml.padding_token_id"));
  const Result<Json> json = text::tokenizer_json(spec);
  if (!json.ok()) {
    notes.push_back("no tokenizer: " + json.error().message);
    return {};
  }
  O3_TRY(write_json(directory / "tokenizer.json", *json, -1));
  return write_json(directory / "tokenizer_config.json", tokenizer_config(spec, pad));
}

Result<void> add_gguf_tokenizer(const artifact::HfDirectory& directory, int64_t rows,
                                artifact::GgufWriter& writer, std::vector<std::string>& notes) {
  O3_TRY(model::check_hf_tokens(directory, rows));
  const fs::path json = directory.path() / "tokenizer.json";
  NamedTokens named;
  O3_ASSIGN(named.ends, model::hf_token_ids(directory, "eos_token_id"));
  O3_ASSIGN(named.bos, first_of(directory, "bos_token_id"));
  O3_ASSIGN(named.pad, first_of(directory, "pad_token_id"));
  O3_ASSIGN(const bool has_tokenizer, artifact::is_there(json));
  if (has_tokenizer) {
    O3_ASSIGN(const artifact::MappedFile file, artifact::MappedFile::open(json));
    const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                                file.bytes().size());
    writer.add(kTokenizerJsonKey, text);
    O3_ASSIGN(const Json names, merged_names(directory.path()));
    if (!names.empty()) writer.add(kTokenizerConfigKey, dump(names));
    O3_TRY(add_vocabulary(directory.path(), text, names, rows, named, writer, notes));
  } else {
    notes.emplace_back("the directory has no tokenizer.json");
  }
  add_ids(named, writer);
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
