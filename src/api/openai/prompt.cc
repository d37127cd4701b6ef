// SPDX-License-Identifier: Apache-2.0
#include "api/openai/prompt.h"

#include <algorithm>
#include <string>

#include "text/with_bos.h"

namespace o3::api::openai {
namespace {

// A prompt of up to so many contexts is counted exactly, so that its author knows what to cut; a
// longer one is not worth the time.
constexpr size_t kCountedContexts = 8;

Error prompt_too_long(const ServedModel& model, const std::string& tokens, const char* field) {
  return Error{Code::kTooLong,
               "The prompt has " + tokens + " tokens; the context of " + model.id + " holds " +
                   std::to_string(model.context) + ", at least one of them for the answer.",
               field};
}

Result<std::vector<Token>> encode(const ServedModel& model, std::span<const text::Segment> segments,
                                  const char* field) {
  const size_t counted = kCountedContexts * static_cast<size_t>(model.context);
  auto bounded = model.tokenizer->encode_at_most(segments, counted);
  if (!bounded.ok()) {
    Error error = std::move(bounded).error();
    error.code = Code::kInvalid;
    error.param = field;
    return error;
  }
  text::BoundedTokens encoded = *std::move(bounded);
  if (encoded.fits) return std::move(encoded.tokens);
  return prompt_too_long(model, "at least " + std::to_string(encoded.at_least), field);
}

// How many tokens the answer may have.
Result<int32_t> room_for(const ServedModel& model, const GenerationOptions& options, size_t tokens,
                         const char* field) {
  const auto used = static_cast<int64_t>(tokens);
  const int64_t room = model.context - used;
  if (room < 1) return prompt_too_long(model, std::to_string(used), field);
  if (options.max_tokens.value_or(0) > room) {
    return Error{Code::kTooLong,
                 "The prompt has " + std::to_string(used) + " tokens and " +
                     std::to_string(*options.max_tokens) + " are asked for; the context of " +
                     model.id + " holds " + std::to_string(model.context) + ".",
                 std::string(options.max_tokens_field)};
  }
  // 0: the prompt alone; the engine samples one token all the same.
  return std::max(options.max_tokens.value_or(static_cast<int32_t>(room)), 1);
}

// Where `text` stands last among what the client wrote; as the template's only where that is
// nowhere (trusted messages): "im" is also a part of "<|im_end|>".
size_t find_last(std::string_view text, const std::vector<text::Segment>& segments) {
  std::string whole;
  std::string others;  // the template's characters hidden
  for (const text::Segment& segment : segments) {
    whole += segment.text;
    // No well-formed text has this byte.
    others += segment.trusted ? std::string(segment.text.size(), '\xFF') : segment.text;
  }
  const size_t found = others.rfind(text);
  return found != std::string::npos ? found : whole.rfind(text);
}

// What a template writes behind the last message is cut off. Templates may strip its text.
Result<void> cut_behind(std::string_view content, std::vector<text::Segment>& segments) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = content.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) {
    return invalid("continue_final_message needs a last message with text.", "messages");
  }
  const size_t end = content.find_last_not_of(kSpace) + 1;
  const std::string_view stripped = content.substr(begin, end - begin);
  std::string whole;
  for (const text::Segment& segment : segments) whole += segment.text;
  const size_t found = find_last(stripped, segments);
  if (found == std::string::npos) {
    return invalid("The template does not show the last message; it cannot be continued.",
                   "continue_final_message");
  }
  const std::string_view tail = content.substr(end);
  size_t keep = found + stripped.size();
  if (std::string_view(whole).substr(keep).starts_with(tail)) keep += tail.size();
  for (text::Segment& segment : segments) {
    segment.text.resize(std::min(segment.text.size(), keep));
    keep -= segment.text.size();
  }
  return {};
}

Result<std::vector<Token>> infill_prompt(const ServedModel& model, const std::string& prefix,
                                         const std::string& suffix) {
  if (!model.infill) {
    return unsupported("The model " + model.id + " has no infill tokens; leave suffix out.",
                       "suffix");
  }
  // Text to be filled in is no markup.
  const std::vector<text::Segment> before{{prefix, false}};
  const std::vector<text::Segment> after{{suffix, false}};
  O3_ASSIGN(const std::vector<Token> head, encode(model, before, "prompt"));
  O3_ASSIGN(const std::vector<Token> tail, encode(model, after, "suffix"));
  std::vector<Token> tokens{model.infill->prefix};
  tokens.insert(tokens.end(), head.begin(), head.end());
  tokens.push_back(model.infill->suffix);
  tokens.insert(tokens.end(), tail.begin(), tail.end());
  tokens.push_back(model.infill->middle);
  return tokens;
}

Result<std::vector<Token>> completion_tokens(const ServedModel& model,
                                             const CompletionRequest& request,
                                             const PromptText& prompt) {
  if (const auto* tokens = std::get_if<std::vector<Token>>(&prompt)) {
    if (request.suffix) return unsupported("suffix needs a prompt of text.", "suffix");
    return *tokens;
  }
  const std::string& words = std::get<std::string>(prompt);
  if (request.suffix) return infill_prompt(model, words, *request.suffix);
  const std::vector<text::Segment> segments{{words, true}};
  return encode(model, segments, "prompt");
}

}  // namespace

Result<std::vector<text::Segment>> render_conversation(const ServedModel& model,
                                                       const ChatRequest& request) {
  if (!model.render) {
    return unsupported("The model " + model.id + " has no chat template; it cannot chat.", "model");
  }
  auto segments = model.render(request.conversation);
  if (!segments.ok()) {
    Error error = std::move(segments).error();
    if (error.param.empty()) error.param = "messages";
    if (error.code == Code::kTooLong) error.code = Code::kInvalid;  // the text, not the context
    return error;
  }
  if (request.continue_final) {
    O3_TRY(cut_behind(request.conversation.messages.back().content, *segments));
  }
  return segments;
}

Result<Prompt> build_prompt(const ServedModel& model, const ChatRequest& request) {
  O3_ASSIGN(const std::vector<text::Segment> segments, render_conversation(model, request));
  O3_ASSIGN(std::vector<Token> tokens, encode(model, segments, "messages"));
  Prompt prompt;
  prompt.tokens = text::with_bos(*model.tokenizer, std::move(tokens));
  if (prompt.tokens.empty()) return invalid("The messages make an empty prompt.", "messages");
  O3_ASSIGN(prompt.max_new_tokens, room_for(model, request, prompt.tokens.size(), "messages"));
  if (request.echo) prompt.echo = request.conversation.messages.back().content;
  return prompt;
}

Result<Prompt> build_prompt(const ServedModel& model, const CompletionRequest& request,
                            const PromptText& text) {
  O3_ASSIGN(std::vector<Token> tokens, completion_tokens(model, request, text));
  Prompt prompt;
  const bool is_text = std::holds_alternative<std::string>(text);
  prompt.tokens = is_text && request.add_special_tokens
                      ? text::with_bos(*model.tokenizer, std::move(tokens))
                      : std::move(tokens);
  if (prompt.tokens.empty()) return invalid("The prompt is empty; it needs one token.", "prompt");
  for (const Token token : prompt.tokens) {
    if (token < model.tokenizer->vocabulary_size()) continue;
    return invalid("The token id " + std::to_string(token) + " is outside the vocabulary (0 to " +
                       std::to_string(model.tokenizer->vocabulary_size() - 1) + ").",
                   "prompt");
  }
  O3_ASSIGN(prompt.max_new_tokens, room_for(model, request, prompt.tokens.size(), "prompt"));
  if (!request.echo) return prompt;
  prompt.echo =
      is_text ? std::get<std::string>(text) : text::decode(*model.tokenizer, prompt.tokens, true);
  return prompt;
}

}  // namespace o3::api::openai
