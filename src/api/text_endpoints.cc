// SPDX-License-Identifier: Apache-2.0
#include "api/text_endpoints.h"

#include <algorithm>
#include <array>

#include "api/json_text.h"
#include "api/openai/field.h"
#include "api/openai/handlers.h"
#include "api/openai/prompt.h"
#include "text/unicode/utf8.h"
#include "text/with_bos.h"

namespace o3::api {
namespace {

using openai::Json;
using openai::member;

constexpr std::array<std::string_view, 16> kFields{"model",
                                                   "prompt",
                                                   "content",
                                                   "messages",
                                                   "tokens",
                                                   "add_special_tokens",
                                                   "add_special",
                                                   "parse_special",
                                                   "return_token_strs",
                                                   "with_pieces",
                                                   "add_generation_prompt",
                                                   "continue_final_message",
                                                   "chat_template_kwargs",
                                                   "user",
                                                   "metadata",
                                                   "request_id"};

Result<std::shared_ptr<const ServedModel>> model_of(const Services& services, const Json& root,
                                                    const govern::Principal& principal) {
  if (const Json* value = member(root, "model")) {
    O3_ASSIGN(const std::string name, openai::read_text(*value, "model"));
    auto model = services.models.find(name);
    if (!model) return unknown_model(name);
    return model;
  }
  const auto models = services.models.all();
  const auto own = std::ranges::find_if(
      *models, [&](const auto& model) { return govern::may_use_model(principal, model->id); });
  if (own == models->end()) return unknown_model("");
  return *own;
}

Result<Json> read(Services& services, http::Exchange& exchange) {
  const openai::RequestLimits limits = openai::request_limits(services);
  auto root = openai::read_body(exchange.body, limits);
  exchange.body = {};
  exchange.release_body();
  if (!root.ok()) return root;
  openai::GenerationOptions noted;
  for (const auto& [name, value] : root->items()) {
    if (std::ranges::find(kFields, name) != kFields.end()) continue;
    O3_TRY(openai::note_unknown(name, limits.strict, noted));
  }
  services.route.metrics.unknown_fields(noted.unknown_count);
  return root;
}

Result<bool> flag(const Json& root, const char* name, bool standard) {
  const Json* value = member(root, name);
  return value == nullptr ? Result<bool>(standard) : openai::read_flag(*value, name);
}

Result<void> read_chat(Services& services, const Json& root, TextCall& call) {
  call.chat.emplace();
  return openai::parse_conversation(root, openai::request_limits(services), *call.chat);
}

Resolved<TextCall> resolved(TextCall call) {
  std::string id = call.model->id;
  return {std::move(id), std::move(call)};
}

http::Response json(std::string body) {
  return {.status = 200, .content_type = "application/json", .body = std::move(body), .fields = {}};
}

// A piece as llama-server gives it: a string, or its bytes where they are no whole text.
void append_piece(std::string& out, std::string_view bytes) {
  if (text::repaired_utf8(bytes) == bytes) return append_json_string(out, bytes);
  out += '[';
  for (size_t i = 0; i < bytes.size(); ++i) {
    out += (i == 0 ? "" : ",") + std::to_string(static_cast<unsigned char>(bytes[i]));
  }
  out += ']';
}

Result<std::vector<Token>> tokens_of(const TextCall& call) {
  const text::Tokenizer& tokenizer = *call.model->tokenizer;
  if (call.chat) {
    O3_ASSIGN(const auto segments, openai::render_conversation(*call.model, *call.chat));
    O3_ASSIGN(auto tokens, tokenizer.encode(segments));
    return text::with_bos(tokenizer, std::move(tokens));
  }
  const auto specials =
      call.parse_special ? text::SpecialTokens::kParse : text::SpecialTokens::kPlain;
  O3_ASSIGN(auto tokens, tokenizer.encode(call.text, specials));
  return call.add_bos ? text::with_bos(tokenizer, std::move(tokens)) : tokens;
}

}  // namespace

Result<Resolved<TextCall>> resolve_tokenize(Services& services, http::Exchange& exchange,
                                            const govern::Principal& principal) {
  O3_ASSIGN(const Json root, read(services, exchange));
  TextCall call;
  O3_ASSIGN(call.model, model_of(services, root, principal));
  O3_ASSIGN(call.parse_special, flag(root, "parse_special", true));
  O3_ASSIGN(call.token_strings, flag(root, "return_token_strs", false));
  O3_ASSIGN(call.pieces, flag(root, "with_pieces", false));
  if (member(root, "messages") != nullptr) {
    O3_TRY(read_chat(services, root, call));
    return resolved(std::move(call));
  }
  // vLLM's form adds special tokens unless told not to, llama-server's the other way round.
  const char* const name = member(root, "prompt") != nullptr ? "prompt" : "content";
  const Json* words = member(root, name);
  if (words == nullptr) {
    return invalid("prompt is missing (or content, or messages).", "prompt");
  }
  O3_ASSIGN(call.text, openai::read_text(*words, name));
  O3_ASSIGN(const bool special, flag(root, "add_special", std::string_view(name) == "prompt"));
  O3_ASSIGN(call.add_bos, flag(root, "add_special_tokens", special));
  return resolved(std::move(call));
}

Result<Resolved<TextCall>> resolve_detokenize(Services& services, http::Exchange& exchange,
                                              const govern::Principal& principal) {
  O3_ASSIGN(const Json root, read(services, exchange));
  TextCall call;
  O3_ASSIGN(call.model, model_of(services, root, principal));
  const Json* tokens = member(root, "tokens");
  if (tokens == nullptr || !tokens->is_array()) {
    return invalid("tokens must be a list of token ids.", "tokens");
  }
  const int64_t last = call.model->tokenizer->vocabulary_size() - 1;
  for (size_t i = 0; i < tokens->size(); ++i) {
    O3_ASSIGN(const int64_t id,
              openai::read_integer((*tokens)[i], openai::at("tokens", i), 0, last));
    call.tokens.push_back(static_cast<Token>(id));
  }
  return resolved(std::move(call));
}

Result<Resolved<TextCall>> resolve_template(Services& services, http::Exchange& exchange,
                                            const govern::Principal& principal) {
  O3_ASSIGN(const Json root, read(services, exchange));
  TextCall call;
  O3_ASSIGN(call.model, model_of(services, root, principal));
  O3_TRY(read_chat(services, root, call));
  return resolved(std::move(call));
}

Result<http::Response> tokenize(const TextCall& call) {
  O3_ASSIGN(const std::vector<Token> tokens, tokens_of(call));
  const text::Tokenizer& tokenizer = *call.model->tokenizer;
  std::string ids;
  std::string strings;
  for (const Token token : tokens) {
    const char* comma = ids.empty() ? "" : ",";
    const std::string id = std::to_string(token);
    if (call.pieces) {
      ids.append(comma).append("{\"id\":").append(id).append(",\"piece\":");
      append_piece(ids, tokenizer.bytes(token, true));
      ids += '}';
    } else {
      ids.append(comma).append(id);
    }
    if (!call.token_strings) continue;
    strings += comma;
    append_json_string(strings, tokenizer.bytes(token, true));
  }
  return json("{\"count\":" + std::to_string(tokens.size()) +
              ",\"max_model_len\":" + std::to_string(call.model->context) + ",\"tokens\":[" + ids +
              "],\"token_strs\":" + (call.token_strings ? "[" + strings + "]" : "null") + "}");
}

http::Response detokenize(const TextCall& call) {
  std::string words;
  append_json_string(words, text::decode(*call.model->tokenizer, call.tokens, true));
  return json("{\"prompt\":" + words + ",\"content\":" + words + "}");
}

Result<http::Response> apply_template(const TextCall& call) {
  O3_ASSIGN(const auto segments, openai::render_conversation(*call.model, *call.chat));
  std::string prompt;
  for (const text::Segment& segment : segments) prompt += segment.text;
  std::string body = "{\"prompt\":";
  append_json_string(body, prompt);
  return json(body + "}");
}

}  // namespace o3::api
