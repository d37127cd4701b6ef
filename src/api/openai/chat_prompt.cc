// SPDX-License-Identifier: Apache-2.0
#include "api/openai/chat_prompt.h"

#include <string>

#include "text/with_bos.h"

namespace o3::api::openai {
namespace {

Error too_long(const std::string& message) {
  return Error{Code::kTooLong, message, "messages"};
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
  ChatPrompt prompt{.tokens = text::with_bos(*model.tokenizer, model.tokenizer->encode(*segments))};
  if (prompt.tokens.empty()) return invalid("The messages make an empty prompt.", "messages");
  const auto used = static_cast<int64_t>(prompt.tokens.size());
  const int64_t room = model.context - used;
  const std::string context = std::to_string(model.context);
  if (room < 1) {
    return too_long("The prompt has " + std::to_string(used) + " tokens; the context of " +
                    model.id + " holds " + context + ", at least one of them for the answer.");
  }
  if (request.max_tokens.value_or(0) > room) {
    return too_long("The prompt has " + std::to_string(used) + " tokens and " +
                    std::to_string(*request.max_tokens) + " are asked for; the context of " +
                    model.id + " holds " + context + ".");
  }
  prompt.max_new_tokens = request.max_tokens.value_or(static_cast<int32_t>(room));
  return prompt;
}

}  // namespace o3::api::openai
