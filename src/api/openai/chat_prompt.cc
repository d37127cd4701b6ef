// SPDX-License-Identifier: Apache-2.0
#include "api/openai/chat_prompt.h"

#include <string>

#include "text/with_bos.h"

namespace o3::api::openai {
namespace {

// A prompt of up to so many contexts is counted exactly, so that its author knows what to cut; a
// longer one is not worth the time.
constexpr size_t kCountedContexts = 8;

Error prompt_too_long(const ServedModel& model, const std::string& tokens) {
  return Error{Code::kTooLong,
               "The prompt has " + tokens + " tokens; the context of " + model.id + " holds " +
                   std::to_string(model.context) + ", at least one of them for the answer.",
               "messages"};
}

}  // namespace

Result<ChatPrompt> build_prompt(const ServedModel& model, const ChatRequest& request) {
  if (!model.render) {
    return unsupported("The model " + model.id + " has no chat template; it cannot chat.", "model");
  }
  auto segments = model.render(request.messages);
  if (!segments.ok()) {
    Error error = std::move(segments).error();
    if (error.param.empty()) error.param = "messages";
    if (error.code == Code::kTooLong) error.code = Code::kInvalid;  // the text, not the context
    return error;
  }
  const size_t counted = kCountedContexts * static_cast<size_t>(model.context);
  auto bounded = model.tokenizer->encode_at_most(*segments, counted);
  if (!bounded.ok()) {
    Error error = std::move(bounded).error();
    error.code = Code::kInvalid;
    error.param = "messages";
    return error;
  }
  text::BoundedTokens encoded = *std::move(bounded);
  if (!encoded.fits) {
    return prompt_too_long(model, "at least " + std::to_string(encoded.at_least));
  }
  ChatPrompt prompt{.tokens = text::with_bos(*model.tokenizer, std::move(encoded.tokens))};
  if (prompt.tokens.empty()) return invalid("The messages make an empty prompt.", "messages");
  const auto used = static_cast<int64_t>(prompt.tokens.size());
  const int64_t room = model.context - used;
  if (room < 1) return prompt_too_long(model, std::to_string(used));
  if (request.max_tokens.value_or(0) > room) {
    return Error{Code::kTooLong,
                 "The prompt has " + std::to_string(used) + " tokens and " +
                     std::to_string(*request.max_tokens) + " are asked for; the context of " +
                     model.id + " holds " + std::to_string(model.context) + ".",
                 std::string(request.max_tokens_field)};
  }
  prompt.max_new_tokens = request.max_tokens.value_or(static_cast<int32_t>(room));
  return prompt;
}

}  // namespace o3::api::openai
