// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "api/openai/chat_request.h"
#include "api/served_model.h"

namespace o3::api::openai {

struct ChatPrompt {
  std::vector<Token> tokens;
  int32_t max_new_tokens = 0;  // prompt and answer fit the context
};

// Messages -> template -> tokens, with exactly one BOS where the tokenizer adds one. Nothing is cut
// off: kTooLong when the prompt (param messages; a long one is not counted to its end) or prompt
// and max_tokens (its field) exceed the context; both numbers are in the message. Without
// max_tokens the answer may take the rest of the context.
Result<ChatPrompt> build_prompt(const ServedModel& model, const ChatRequest& request);

}  // namespace o3::api::openai
