// SPDX-License-Identifier: Apache-2.0
// o3 text: what tokenizers and templates make of text. JSON lines in, JSON lines out.
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "app/command.h"
#include "app/json_lines.h"
#include "config/json_reader.h"
#include "loader/hf_tokenizer.h"
#include "text/detokenizer.h"
#include "text/tokenizer.h"

namespace o3::app {
namespace {

using nlohmann::json;

struct TextOptions {
  std::string tokenizer;
  bool plain = false;   // encode: tokens marked special are plain text
  bool stream = false;  // decode: one piece for each id
};

constexpr size_t kMaxTextBytes = kMaxLineBytes;  // that ids of one line may stand for

Result<void> for_each_line(const std::function<Result<json>(const json&)>& answer) {
  config::JsonLimits limits;
  limits.bytes = kMaxLineBytes;
  limits.values = 10'000'000;
  return answer_lines<json>([&](const std::string& line) -> Result<json> {
    O3_ASSIGN(const json parsed, config::read_json(line, limits));
    return answer(parsed);
  });
}

Result<std::string> text_of(const json& line) {
  const auto text = line.is_object() ? line.find("text") : line.end();
  if (!line.is_object() || text == line.end() || !text->is_string()) {
    return invalid("a line must be {\"text\": string}");
  }
  return text->get<std::string>();
}

Result<std::vector<Token>> ids_of(const json& line, const text::Tokenizer& tokenizer) {
  const auto ids = line.is_object() ? line.find("ids") : line.end();
  if (!line.is_object() || ids == line.end() || !ids->is_array()) {
    return invalid("a line must be {\"ids\": [numbers]}");
  }
  std::vector<Token> out;
  out.reserve(ids->size());
  size_t bytes = 0;
  for (const json& id : *ids) {
    const bool known = id.is_number_integer() && id.get<int64_t>() >= 0 &&
                       id.get<int64_t>() < tokenizer.vocabulary_size();
    if (!known) {
      return invalid("ids must be numbers from 0 to " +
                     std::to_string(tokenizer.vocabulary_size() - 1));
    }
    out.push_back(id.get<Token>());
    bytes += tokenizer.bytes(out.back(), true).size();
    if (bytes > kMaxTextBytes) return Error{Code::kTooLong, "the text is longer than 64 MiB", {}};
  }
  return out;
}

Result<json> encode_line(const json& line, const text::Tokenizer& tokenizer, bool plain) {
  O3_ASSIGN(const std::string text, text_of(line));
  const auto specials = plain ? text::SpecialTokens::kPlainSpecial : text::SpecialTokens::kParse;
  O3_ASSIGN(const std::vector<Token> ids, tokenizer.encode(text, specials));
  return json{{"ids", ids}};
}

Result<json> decode_line(const json& line, const text::Tokenizer& tokenizer) {
  O3_ASSIGN(const std::vector<Token> ids, ids_of(line, tokenizer));
  return json{{"text", text::decode(tokenizer, ids, true)}};
}

Result<json> stream_line(const json& line, const text::Tokenizer& tokenizer) {
  O3_ASSIGN(const std::vector<Token> ids, ids_of(line, tokenizer));
  text::Detokenizer stream(tokenizer, true);
  json pieces = json::array();
  for (const Token id : ids) {
    std::string piece;
    stream.push(id, piece);
    pieces.push_back(std::move(piece));
  }
  std::string flush;
  stream.flush(flush);
  return json{{"pieces", std::move(pieces)}, {"flush", std::move(flush)}};
}

Result<void> encode(const TextOptions& options) {
  O3_ASSIGN(const auto tokenizer, loader::load_any_tokenizer(options.tokenizer));
  return for_each_line(
      [&](const json& line) { return encode_line(line, *tokenizer, options.plain); });
}

Result<void> decode(const TextOptions& options) {
  O3_ASSIGN(const auto tokenizer, loader::load_any_tokenizer(options.tokenizer));
  return for_each_line([&](const json& line) {
    return options.stream ? stream_line(line, *tokenizer) : decode_line(line, *tokenizer);
  });
}

using Run = Result<void> (*)(const TextOptions&);

CLI::App* add(CLI::App& text, const char* name, const char* what,
              const std::shared_ptr<TextOptions>& options, Action& action, Run run) {
  CLI::App* command = text.add_subcommand(name, what);
  command
      ->add_option("--tokenizer", options->tokenizer,
                   "Directory with tokenizer.json, or a GGUF file")
      ->required();
  command->callback([options, &action, run] {
    action = [options, run] {
      const Result<void> done = run(*options);
      return done.ok() ? ExitCode::kOk : report(done.error());
    };
  });
  return command;
}

}  // namespace

void add_text_command(CLI::App& app, Action& action) {
  CLI::App* text = app.add_subcommand("text", "Tokenizers; JSON lines in and out");
  text->require_subcommand(1);
  auto options = std::make_shared<TextOptions>();
  add(*text, "encode", R"(Lines {"text"} to {"ids"}; adds no BOS or EOS)", options, action, &encode)
      ->add_flag("--plain", options->plain, "Texts of special tokens are plain text");
  add(*text, "decode", R"(Lines {"ids"} to {"text"})", options, action, &decode)
      ->add_flag("--stream", options->stream, R"(To {"pieces", "flush"}: one piece for each id)");
}

}  // namespace o3::app
