// SPDX-License-Identifier: Apache-2.0
#include "engine/logit_edits.h"

#include <limits>

namespace o3::engine {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

float& at(std::span<float> logits, Token token) {
  return logits[static_cast<size_t>(token)];
}

// Token `back` places before the end; the sequence has as many.
Token from_end(const KnownTokens& known, size_t back) {
  if (back <= known.sampled.size()) return known.sampled[known.sampled.size() - back];
  return known.prompt[known.prompt.size() - (back - known.sampled.size())];
}

bool ends_with(const KnownTokens& known, std::span<const Token> tail) {
  if (tail.size() > known.prompt.size() + known.sampled.size()) return false;
  for (size_t i = 0; i < tail.size(); ++i) {
    if (from_end(known, tail.size() - i) != tail[i]) return false;
  }
  return true;
}

}  // namespace

TokenHistory::Entry& TokenHistory::entry(Token token) {
  const auto [found, fresh] = index_.try_emplace(token, entries_.size());
  if (fresh) entries_.push_back({.token = token, .sampled = 0});
  return entries_[found->second];
}

void TokenHistory::add_prompt(std::span<const Token> tokens) {
  for (const Token token : tokens) entry(token);
}

bool has_penalties(const SamplingParams& params) {
  return params.repetition_penalty != 1.0F || params.presence_penalty != 0.0F ||
         params.frequency_penalty != 0.0F;
}

void apply_penalties(std::span<float> logits, const TokenHistory& history,
                     const SamplingParams& params) {
  for (const auto& [token, sampled] : history.entries()) {
    float& logit = at(logits, token);
    logit = logit < 0.0F ? logit * params.repetition_penalty : logit / params.repetition_penalty;
    if (sampled == 0) continue;
    logit -= params.frequency_penalty * static_cast<float>(sampled);
    logit -= params.presence_penalty;
  }
}

void apply_bias(std::span<float> logits, std::span<const TokenBias> bias) {
  for (const auto& [token, value] : bias) at(logits, token) += value;
}

void forbid_bad_words(std::span<float> logits, const KnownTokens& known,
                      std::span<const std::vector<Token>> bad_words) {
  for (const std::vector<Token>& word : bad_words) {
    const std::span<const Token> tokens(word);
    if (ends_with(known, tokens.first(tokens.size() - 1))) at(logits, tokens.back()) = kNever;
  }
}

void forbid(std::span<float> logits, std::span<const Token> tokens) {
  for (const Token token : tokens) at(logits, token) = kNever;
}

}  // namespace o3::engine
