// SPDX-License-Identifier: Apache-2.0
// The body of POST /v1/chat/completions, parsed once into native types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/json_reader.h"
#include "text/chat_template.h"

namespace o3::api::openai {

enum class AnswerFormat : uint8_t { kText, kJsonObject };

struct ChatRequest {
  std::string model;
  std::vector<text::ChatMessage> messages;  // at least one
  std::optional<int32_t> max_tokens;        // >= 1; max_completion_tokens wins over max_tokens
  std::string_view max_tokens_field = "max_tokens";  // the one that was given
  float temperature = 1.0F;                          // 0-2
  float top_p = 1.0F;                                // (0, 1]
  int32_t top_k = 0;                                 // 0: off
  std::optional<uint64_t> seed;
  std::vector<std::string> stop;  // at most 4, none empty
  bool ignore_eos = false;        // goes on behind the end of the text; never with kJsonObject
  AnswerFormat format = AnswerFormat::kText;
  bool stream = false;
  bool include_usage = false;
  std::vector<std::string> unknown;  // paths of fields that were not understood; printable, bounded
  size_t unknown_count = 0;          // also of those beyond the list's bound
};

struct ChatLimits {
  config::JsonLimits json{};
  size_t messages = 4096;
  size_t stop_bytes = 512;  // of one stop string
  bool strict = false;      // unknown fields are refused
};

// kInvalid and kUnsupported name the field (`param`) and what would be accepted.
Result<ChatRequest> parse_chat_request(std::string_view body, const ChatLimits& limits);

}  // namespace o3::api::openai
