// SPDX-License-Identifier: Apache-2.0
#include "app/loaded_model.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "app/gguf_tokenizer.h"
#include "artifact/gguf/gguf_file.h"
#include "base/local_time.h"
#include "model/family.h"

namespace o3::app {
namespace {

// Texts that end a turn or a document in the families we load; files name only one of them as
// their end-of-sequence token, and a model that emits another one would never stop.
constexpr std::array<std::string_view, 6> kEndTexts = {
    "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<end_of_turn>", "</s>",
};

Result<std::vector<Token>> stop_tokens(const artifact::GgufFile& file,
                                       const text::Tokenizer& tokenizer) {
  std::vector<Token> tokens;
  if (tokenizer.eos().has_value()) tokens.push_back(*tokenizer.eos());
  O3_ASSIGN(const auto end_of_turn, file.optional<uint32_t>("tokenizer.ggml.eot_token_id"));
  if (end_of_turn.has_value()) {
    if (*end_of_turn >= static_cast<uint32_t>(tokenizer.vocabulary_size())) {
      return invalid("the end-of-turn token is outside the vocabulary",
                     "tokenizer.ggml.eot_token_id");
    }
    tokens.push_back(static_cast<Token>(*end_of_turn));
  }
  for (const std::string_view text : kEndTexts) {
    const std::optional<Token> token = tokenizer.find(text);
    if (token.has_value() && tokenizer.is_control(*token)) tokens.push_back(*token);
  }
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  return tokens;
}

std::string token_text(const text::Tokenizer& tokenizer, std::optional<Token> token) {
  return token.has_value() ? std::string(tokenizer.bytes(*token, true)) : std::string();
}

Result<std::shared_ptr<const text::ChatTemplate>> chat_template(const artifact::GgufFile& file) {
  constexpr std::string_view kKey = "tokenizer.chat_template";
  O3_ASSIGN(const auto source, file.optional<std::string_view>(kKey));
  if (!source.has_value()) return unsupported("the model has no chat template");
  auto parsed = text::ChatTemplate::parse(*source);
  if (!parsed.ok()) {
    Error error = std::move(parsed).error();
    error.param = kKey;
    return error;
  }
  return std::shared_ptr<const text::ChatTemplate>(
      std::make_shared<text::ChatTemplate>(*std::move(parsed)));
}

}  // namespace

Result<LoadedModel> load_model_file(const std::filesystem::path& path, device::Backend& backend,
                                    const model::LoadOptions& options) {
  O3_ASSIGN(auto opened, artifact::GgufFile::open(path));
  auto file = std::make_shared<const artifact::GgufFile>(std::move(opened));
  LoadedModel loaded;
  O3_ASSIGN(loaded.tokenizer, load_gguf_tokenizer(*file));
  auto chat = chat_template(*file);
  if (chat.ok()) {
    loaded.chat_template = *std::move(chat);
  } else {
    loaded.no_template = std::move(chat).error();  // only those who chat need to know
  }
  O3_ASSIGN(loaded.stop_tokens, stop_tokens(*file, *loaded.tokenizer));
  loaded.template_variables["bos_token"] = token_text(*loaded.tokenizer, loaded.tokenizer->bos());
  loaded.template_variables["eos_token"] = token_text(*loaded.tokenizer, loaded.tokenizer->eos());
  O3_ASSIGN(loaded.model, model::load_model(file, backend, options));
  const int32_t embedded = loaded.model->config().vocabulary;
  if (embedded < loaded.tokenizer->vocabulary_size()) {
    return invalid("the tokenizer has " + std::to_string(loaded.tokenizer->vocabulary_size()) +
                   " tokens, but the embedding only " + std::to_string(embedded) + " rows");
  }
  return loaded;
}

Result<std::unique_ptr<model::Model>> load_weights(const std::filesystem::path& path,
                                                   device::Backend& backend,
                                                   const model::LoadOptions& options) {
  O3_ASSIGN(auto opened, artifact::GgufFile::open(path));
  return model::load_model(std::make_shared<const artifact::GgufFile>(std::move(opened)), backend,
                           options);
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

}  // namespace o3::app
