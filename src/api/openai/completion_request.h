// SPDX-License-Identifier: Apache-2.0
// The body of POST /v1/completions, parsed once into native types.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/openai/generation_options.h"
#include "base/result.h"

namespace o3::api::openai {

using PromptText = std::variant<std::string, std::vector<Token>>;

struct CompletionRequest : GenerationOptions {
  std::vector<PromptText> prompts;  // at least one
  std::optional<std::string> suffix;
  bool echo = false;               // the answer begins with the prompt
  bool add_special_tokens = true;  // BOS where the tokenizer adds one
};

// kInvalid and kUnsupported name the field (`param`) and what would be accepted.
Result<CompletionRequest> parse_completion_request(std::string_view body,
                                                   const RequestLimits& limits);

// A string, a list of strings, a list of token ids, or a list of such lists.
Result<std::vector<PromptText>> read_prompts(const nlohmann::json& value, const std::string& path,
                                             size_t most);

}  // namespace o3::api::openai
