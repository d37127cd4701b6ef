// SPDX-License-Identifier: Apache-2.0
// What a request changes in a row of logits before the draw: penalties, bias, forbidden tokens.
// Each touches the few entries it is about, never the whole row.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "engine/request.h"

namespace o3::engine {

// How often each token came in one sequence. Engine thread only.
class TokenHistory {
 public:
  struct Entry {
    Token token;
    int32_t sampled;  // times in the answer; 0: in the prompt only
  };

  void add_prompt(std::span<const Token> tokens);
  void add_sampled(Token token) { ++entry(token).sampled; }
  std::span<const Entry> entries() const noexcept { return entries_; }

 private:
  Entry& entry(Token token);

  std::vector<Entry> entries_;
  std::unordered_map<Token, size_t> index_;  // into entries_
};

// Whether a request needs the history at all.
bool has_penalties(const SamplingParams& params);

// Of tokens seen in prompt or answer: a positive logit is divided by repetition_penalty, a negative
// one multiplied. Of those in the answer, frequency_penalty * count and presence_penalty are
// subtracted then.
void apply_penalties(std::span<float> logits, const TokenHistory& history,
                     const SamplingParams& params);

void apply_bias(std::span<float> logits, std::span<const TokenBias> bias);

// A sequence as the edits see it: prompt and answer.
struct KnownTokens {
  std::span<const Token> prompt;
  std::span<const Token> sampled;
};

// The last token of every bad word whose other tokens are the sequence's last.
void forbid_bad_words(std::span<float> logits, const KnownTokens& known,
                      std::span<const std::vector<Token>> bad_words);

void forbid(std::span<float> logits, std::span<const Token> tokens);

}  // namespace o3::engine
