// SPDX-License-Identifier: Apache-2.0
// The body of POST /v1/chat/completions, parsed once into native types.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "api/openai/generation_options.h"
#include "api/served_model.h"
#include "base/result.h"
#include "text/chat_template.h"

namespace o3::api::openai {

struct ChatRequest : GenerationOptions {
  Conversation conversation;    // at least one message
  bool continue_final = false;  // the answer goes on where the last message ends
  bool echo = false;            // the answer begins with the last message's text
  bool add_special_tokens =
      false;  // a BOS even where the template wrote none; with_bos() otherwise
};

// kInvalid and kUnsupported name the field (`param`) and what would be accepted.
Result<ChatRequest> parse_chat_request(std::string_view body, const RequestLimits& limits);

// The members that say how a conversation becomes a prompt, also of /tokenize and /apply-template.
Result<void> parse_conversation(const nlohmann::json& root, const RequestLimits& limits,
                                ChatRequest& out);

}  // namespace o3::api::openai
