// SPDX-License-Identifier: Apache-2.0
#include "loader/loaded_model.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "artifact/gguf/gguf_file.h"
#include "artifact/hf/hf_directory.h"
#include "base/local_time.h"
#include "base/log.h"
#include "base/printable.h"
#include "loader/gguf_tokenizer.h"
#include "loader/hf_tokenizer.h"
#include "loader/template_source.h"
#include "model/hf/hf_config.h"

namespace o3::loader {
namespace {

namespace fs = std::filesystem;

// Texts that end a turn or a document in the families we load; files name only one of them as
// their end-of-sequence token, and a model that emits another one would never stop.
constexpr std::array<std::string_view, 6> kEndTexts = {
    "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<end_of_turn>", "</s>",
};

// `named` are the ids that the files name; the texts above come on top.
Result<std::vector<Token>> stop_tokens(const std::vector<int64_t>& named, const char* key,
                                       const text::Tokenizer& tokenizer) {
  std::vector<Token> tokens;
  if (tokenizer.eos().has_value()) tokens.push_back(*tokenizer.eos());
  for (const int64_t id : named) {
    if (id < 0 || id >= tokenizer.vocabulary_size()) {
      return invalid(std::string(key) + " names token " + std::to_string(id) +
                         ", which is outside the vocabulary",
                     key);
    }
    tokens.push_back(static_cast<Token>(id));
  }
  for (const std::string_view text : kEndTexts) {
    const std::optional<Token> token = tokenizer.find(text);
    if (token.has_value() && tokenizer.is_control(*token)) tokens.push_back(*token);
  }
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  return tokens;
}

void warn_of_unread(const model::ModelSource& source) {
  std::vector<std::string> names;
  for (const artifact::UnreadTensor& tensor : source.checkpoint->unread()) {
    names.push_back(printable(source.checkpoint->source_name(tensor.name)));
  }
  if (names.empty()) return;
  log::warn("{}: tensors that cannot be weights are left out: {}", source.checkpoint->name(),
            list_of(names, "; "));
}

Result<model::ModelSource> open_directory(
    const std::shared_ptr<const artifact::HfDirectory>& directory) {
  auto source = model::open_source(directory);
  if (source.ok() && source->left_out > 0) {
    log::warn("{}: {} tensors of the vision tower are left out; this build has the text model only",
              directory->name(), source->left_out);
  }
  return source;
}

std::string token_text(const text::Tokenizer& tokenizer, std::optional<Token> token) {
  return token.has_value() ? std::string(tokenizer.bytes(*token, true)) : std::string();
}

// Only those who chat need to know that there is none.
void take_template(Result<TemplateSource> source, LoadedModel& loaded) {
  if (!source.ok()) {
    loaded.no_template = std::move(source).error();
    return;
  }
  loaded.template_variables.update(source->variables);
  auto parsed = text::ChatTemplates::parse(source->text, source->tool_use);
  if (parsed.ok()) {
    loaded.chat_template = std::make_shared<const text::ChatTemplates>(*std::move(parsed));
  } else {
    loaded.no_template = std::move(parsed).error();
    loaded.no_template.param = "tokenizer.chat_template";
  }
}

// A tokenizer, then the template and the weights that belong to it.
Result<LoadedModel> finish(LoadedModel loaded, const fs::path& path,
                           const model::ModelSource& source, device::Backend& backend,
                           const model::LoadOptions& options) {
  loaded.template_variables["bos_token"] = token_text(*loaded.tokenizer, loaded.tokenizer->bos());
  loaded.template_variables["eos_token"] = token_text(*loaded.tokenizer, loaded.tokenizer->eos());
  take_template(read_model_templates(path), loaded);
  O3_ASSIGN(loaded.model, model::load_model(source, backend, options));
  warn_of_unread(source);
  const int32_t embedded = loaded.model->config().vocabulary;
  if (embedded < loaded.tokenizer->vocabulary_size()) {
    return invalid("the tokenizer has " + std::to_string(loaded.tokenizer->vocabulary_size()) +
                   " tokens, but the embedding only " + std::to_string(embedded) + " rows");
  }
  return loaded;
}

Result<LoadedModel> load_gguf(const fs::path& path, device::Backend& backend,
                              const model::LoadOptions& options) {
  O3_ASSIGN(auto opened, artifact::GgufFile::open(path));
  const auto file = std::make_shared<const artifact::GgufFile>(std::move(opened));
  LoadedModel loaded;
  loaded.file_bytes = file->file_bytes();
  O3_ASSIGN(const model::ModelSource source, model::open_source(file));
  // A family that is not known is the first thing to say, whatever its tokenizer is.
  O3_ASSIGN(const model::ModelConfig config, model::read_config(source));
  static_cast<void>(config);
  O3_ASSIGN(loaded.tokenizer, load_gguf_tokenizer(*file));
  constexpr const char* kEndOfTurn = "tokenizer.ggml.eot_token_id";
  O3_ASSIGN(const auto end_of_turn, file->optional<int64_t>(kEndOfTurn));
  O3_ASSIGN(auto more, file->optional<std::vector<int64_t>>(kStopTokensKey));
  std::vector<int64_t> named = std::move(more).value_or(std::vector<int64_t>{});
  if (end_of_turn) named.push_back(*end_of_turn);
  O3_ASSIGN(const auto end, file->optional<int64_t>("tokenizer.ggml.eos_token_id"));
  if (end) named.push_back(*end);
  O3_ASSIGN(loaded.stop_tokens, stop_tokens(named, kEndOfTurn, *loaded.tokenizer));
  return finish(std::move(loaded), path, source, backend, options);
}

Result<LoadedModel> load_hf(const fs::path& path, device::Backend& backend,
                            const model::LoadOptions& options) {
  O3_ASSIGN(auto opened, artifact::HfDirectory::open(path));
  const auto directory = std::make_shared<const artifact::HfDirectory>(std::move(opened));
  LoadedModel loaded;
  loaded.file_bytes = directory->tensors().file_bytes();
  O3_ASSIGN(const model::ModelSource source, open_directory(directory));
  O3_ASSIGN(loaded.tokenizer, load_hf_tokenizer(path));
  O3_ASSIGN(const model::ModelConfig config, model::read_config(source));
  O3_TRY(model::check_hf_tokens(*directory, config.vocabulary));
  O3_ASSIGN(const std::vector<int64_t> named, model::hf_token_ids(*directory, "eos_token_id"));
  O3_ASSIGN(loaded.stop_tokens, stop_tokens(named, "eos_token_id", *loaded.tokenizer));
  return finish(std::move(loaded), path, source, backend, options);
}

}  // namespace

Result<LoadedModel> load_model_file(const fs::path& path, device::Backend& backend,
                                    const model::LoadOptions& options) {
  std::error_code error;
  return fs::is_directory(path, error) ? load_hf(path, backend, options)
                                       : load_gguf(path, backend, options);
}

Result<model::ModelSource> open_model(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    O3_ASSIGN(auto directory, artifact::HfDirectory::open(path));
    return open_directory(std::make_shared<const artifact::HfDirectory>(std::move(directory)));
  }
  O3_ASSIGN(auto file, artifact::GgufFile::open(path));
  return model::open_source(std::make_shared<const artifact::GgufFile>(std::move(file)));
}

Result<std::unique_ptr<model::Model>> load_weights(const fs::path& path, device::Backend& backend,
                                                   const model::LoadOptions& options) {
  O3_ASSIGN(const model::ModelSource source, open_model(path));
  return model::load_model(source, backend, options);
}

Result<std::vector<text::Segment>> render_chat(const LoadedModel& loaded, text::RenderInput input,
                                               const Clock& clock) {
  if (loaded.chat_template == nullptr) return loaded.no_template;
  input.variables = loaded.template_variables;
  input.trust_assistant = loaded.trust_assistant;
  input.local_time = local_time(clock.wall());
  return loaded.chat_template->render(input);
}

std::optional<InfillTokens> infill_tokens(const text::Tokenizer& tokenizer) {
  // As Qwen-Coder and DeepSeek-like, StarCoder, CodeLlama and CodeGemma files call them.
  constexpr std::array<std::array<std::string_view, 3>, 4> kNames{{
      {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},
      {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},
      {"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},
      {"▁<PRE>", "▁<SUF>", "▁<MID>"},
  }};
  for (const auto& [prefix, suffix, middle] : kNames) {
    const auto pre = tokenizer.find(prefix);
    const auto suf = tokenizer.find(suffix);
    const auto mid = tokenizer.find(middle);
    if (pre && suf && mid) return InfillTokens{*pre, *suf, *mid};
  }
  return std::nullopt;
}

}  // namespace o3::loader
