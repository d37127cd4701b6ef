// SPDX-License-Identifier: Apache-2.0
// Pieces of the answer objects' JSON, written by hand because a stream makes one per token.
#pragma once

#include <string>

#include "api/openai/answer.h"

namespace o3::api::openai {

// `{"id":...,"object":OBJECT,"created":...,"model":...` without the closing brace.
std::string render_heading(const AnswerHeading& heading, std::string_view object);
std::string render_usage(const Usage& usage);
std::string_view reason_name(FinishReason reason) noexcept;  // "stop", "length"

// `,"finish_reason":...,"stop_reason":...`; nulls while the choice goes on.
std::string render_end(const ChoiceEnd* end);

// The value of a choice's "logprobs" for some of its tokens, as the dialect has it. Completions
// also give the place of each token in the text, in code points; `offset` is that of the first and
// moves on.
class LogprobsRenderer {
 public:
  explicit LogprobsRenderer(const AnswerHeading& heading)
      : dialect_(heading.dialect), tokenizer_(heading.tokenizer) {}

  std::string render(std::span<const ScoredToken> tokens, const ScoredPrompt* echoed,
                     size_t& offset) const;
  // vLLM's "prompt_logprobs": a list with null for the first token and, for each other, an object
  // of token ids.
  std::string render_prompt(const ScoredPrompt& prompt) const;

 private:
  std::string chat(std::span<const ScoredToken> tokens) const;
  std::string bytes_of(Token token) const;
  void append_text(std::string& out, Token token) const;
  void append_entry(std::string& out, Token token, float logprob) const;

  Dialect dialect_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
};

}  // namespace o3::api::openai
