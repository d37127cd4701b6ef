// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "api/openai/chat_request.h"
#include "api/openai/completion_request.h"
#include "api/served_model.h"

namespace o3::api::openai {

struct Prompt {
  std::vector<Token> tokens;
  int32_t max_new_tokens = 0;  // prompt and answer fit the context
  std::string echo;            // what the answer begins with, if asked for
};

// Messages -> template -> segments; cut behind the last message's text with continue_final. Errors
// name messages.
Result<std::vector<text::Segment>> render_conversation(const ServedModel& model,
                                                       const ChatRequest& request);

// ... -> tokens, with exactly one BOS where the tokenizer adds one. Nothing is cut off: kTooLong
// when the prompt (param messages; a long one is not counted to its end) or prompt and max_tokens
// (its field) exceed the context; both numbers are in the message. Without max_tokens the answer
// may take the rest of the context.
Result<Prompt> build_prompt(const ServedModel& model, const ChatRequest& request);

// The same for one prompt of a completion request. Whoever writes a whole prompt may write control
// tokens as well. With a suffix, the model's infill tokens stand around both; kUnsupported when it
// has none.
Result<Prompt> build_prompt(const ServedModel& model, const CompletionRequest& request,
                            const PromptText& text);

}  // namespace o3::api::openai
