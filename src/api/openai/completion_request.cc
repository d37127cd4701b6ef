// SPDX-License-Identifier: Apache-2.0
#include "api/openai/completion_request.h"

#include <algorithm>

#include "api/openai/field.h"

namespace o3::api::openai {
namespace {

constexpr int32_t kDefaultTokens = 16;  // as OpenAI has it

Result<std::vector<Token>> read_tokens(const Json& list, const std::string& path) {
  std::vector<Token> tokens;
  tokens.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    O3_ASSIGN(const int64_t id, read_integer(list[i], at(path, i), 0, INT32_MAX));
    tokens.push_back(static_cast<Token>(id));
  }
  return tokens;
}

Result<PromptText> read_prompt(const Json& value, const std::string& path) {
  if (value.is_string()) return PromptText(value.get<std::string>());
  if (!value.is_array() || value.empty()) {
    return invalid(path + " must be a string or a list of token ids.", path);
  }
  O3_ASSIGN(std::vector<Token> tokens, read_tokens(value, path));
  return PromptText(std::move(tokens));
}

}  // namespace

Result<std::vector<PromptText>> read_prompts(const Json& value, const std::string& path,
                                             size_t most) {
  std::vector<PromptText> prompts;
  const bool several = value.is_array() && !value.empty() &&
                       std::ranges::all_of(value, [](const Json& v) { return !v.is_number(); });
  if (!several) {
    O3_ASSIGN(PromptText prompt, read_prompt(value, path));
    prompts.push_back(std::move(prompt));
    return prompts;
  }
  if (value.size() > most) {
    return invalid(path + " takes at most " + std::to_string(most) + " prompts.", path);
  }
  for (size_t i = 0; i < value.size(); ++i) {
    O3_ASSIGN(PromptText prompt, read_prompt(value[i], at(path, i)));
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

Result<CompletionRequest> parse_completion_request(std::string_view body,
                                                   const RequestLimits& limits) {
  O3_ASSIGN(const Json root, read_body(body, limits));
  CompletionRequest request;
  O3_TRY(parse_generation_options(root, Endpoint::kCompletions, limits, request));
  const Json* prompt = member(root, "prompt");
  if (prompt == nullptr) return invalid("prompt is missing.", "prompt");
  O3_ASSIGN(request.prompts, read_prompts(*prompt, "prompt", limits.prompts));
  if (const Json* value = member(root, "suffix")) {
    O3_ASSIGN(std::string suffix, read_text(*value, "suffix"));
    if (!suffix.empty()) request.suffix = std::move(suffix);
  }
  if (const Json* value = member(root, "echo")) {
    O3_ASSIGN(request.echo, read_flag(*value, "echo"));
  }
  if (const Json* value = member(root, "add_special_tokens")) {
    O3_ASSIGN(request.add_special_tokens, read_flag(*value, "add_special_tokens"));
  }
  if (request.max_tokens == 0 && !request.echo) {
    return invalid("max_tokens must be 1 or more; 0 is for the prompt alone, with echo: true.",
                   "max_tokens");
  }
  if (!request.max_tokens)
    request.max_tokens = std::max(kDefaultTokens, request.sampling.min_tokens);
  if (request.echo && request.suffix) {
    return unsupported("echo cannot go with suffix.", "echo");
  }
  if (request.prompts.size() * static_cast<size_t>(request.best_of) > limits.prompts) {
    return invalid(
        "prompts times n (or best_of) may be at most " + std::to_string(limits.prompts) + ".",
        request.best_of > request.n ? "best_of" : "n");
  }
  return request;
}

}  // namespace o3::api::openai
