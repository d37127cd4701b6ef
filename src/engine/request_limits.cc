// SPDX-License-Identifier: Apache-2.0
#include "engine/request_limits.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace o3::engine {
namespace {

constexpr size_t kMaxStopTokens = 256;
constexpr float kMaxTemperature = 100.0F;
constexpr size_t kMaxBiases = 1024;
constexpr size_t kMaxBadWords = 256;
constexpr size_t kMaxBadWordTokens = 64;
constexpr int32_t kMaxLogprobs = 20;

Result<void> check_tokens(const std::vector<Token>& tokens, int32_t vocabulary, const char* param) {
  const auto outside =
      std::find_if(tokens.begin(), tokens.end(), [&](Token t) { return t < 0 || t >= vocabulary; });
  if (outside == tokens.end()) return {};
  return invalid(std::string(param) + " has the token id " + std::to_string(*outside) +
                     ", which is outside the vocabulary (0 to " + std::to_string(vocabulary - 1) +
                     ")",
                 param);
}

// Comparisons are written so that NaN fails them.
Result<void> check_range(float value, float min, float max, const char* name) {
  if (value >= min && value <= max) return {};
  return invalid(std::string(name) + " is outside its range", name);
}

Result<void> check_edits(const SamplingParams& sampling, int32_t vocabulary) {
  O3_TRY(check_range(sampling.repetition_penalty, 0.01F, 100.0F, "repetition_penalty"));
  O3_TRY(check_range(sampling.presence_penalty, -2.0F, 2.0F, "presence_penalty"));
  O3_TRY(check_range(sampling.frequency_penalty, -2.0F, 2.0F, "frequency_penalty"));
  if (sampling.min_tokens < 0) return invalid("min_tokens must be 0 or more", "min_tokens");
  if (sampling.bias.size() > kMaxBiases) {
    return invalid("logit_bias takes at most 1024 tokens", "logit_bias");
  }
  for (const TokenBias& bias : sampling.bias) {
    O3_TRY(check_tokens({bias.token}, vocabulary, "logit_bias"));
    O3_TRY(check_range(bias.bias, -100.0F, 100.0F, "logit_bias"));
  }
  if (sampling.bad_words.size() > kMaxBadWords) {
    return invalid("at most 256 bad words", "bad_words");
  }
  for (const std::vector<Token>& word : sampling.bad_words) {
    if (word.empty() || word.size() > kMaxBadWordTokens) {
      return invalid("a bad word has 1 to 64 tokens", "bad_words");
    }
    O3_TRY(check_tokens(word, vocabulary, "bad_words"));
  }
  return {};
}

Result<void> check_logprobs(const std::optional<int32_t>& asked, const char* name) {
  if (!asked || (*asked >= 0 && *asked <= kMaxLogprobs)) return {};
  return invalid(std::string(name) + " must be 0 to 20", name);
}

Result<void> check_sampling(const SamplingParams& sampling) {
  if (!(sampling.temperature >= 0.0F && sampling.temperature <= kMaxTemperature)) {
    return invalid("temperature must be a number from 0 to 100", "temperature");
  }
  if (sampling.top_k < 0) return invalid("top_k must be 0 (off) or more", "top_k");
  if (!(sampling.top_p > 0.0F && sampling.top_p <= 1.0F)) {
    return invalid("top_p must be a number above 0 and at most 1", "top_p");
  }
  if (!(sampling.typical_p > 0.0F && sampling.typical_p <= 1.0F)) {
    return invalid("typical_p must be a number above 0 and at most 1", "typical_p");
  }
  O3_TRY(check_range(sampling.min_p, 0.0F, 1.0F, "min_p"));
  return {};
}

Result<void> check_length(const Generate& work, const RequestLimits& limits) {
  if (work.prompt.empty()) return invalid("the prompt is empty; it needs one token", "prompt");
  if (work.max_new_tokens < 1) return invalid("max_new_tokens must be 1 or more", "max_new_tokens");
  const int64_t prompt = static_cast<int64_t>(work.prompt.size());
  const int64_t asked = prompt + work.max_new_tokens;
  if (asked <= limits.context) return {};
  std::string message = "the prompt has " + std::to_string(prompt) + " tokens and " +
                        std::to_string(work.max_new_tokens) + " more are asked for, " +
                        std::to_string(asked) + " in all; one request may have " +
                        std::to_string(limits.context);
  message += limits.context < limits.model_context
                 ? " (the KV pool holds no more; the model's context is " +
                       std::to_string(limits.model_context) + ")"
                 : " (the model's context)";
  return Error{Code::kTooLong, std::move(message), "prompt"};
}

}  // namespace

RequestLimits RequestLimits::of(int32_t vocabulary, int32_t model_context,
                                const cache::PageLayout& layout, uint32_t blocks) {
  // pages_for() grows with the tokens: the largest count that the pool holds, by bisection.
  int32_t fits = 0;
  int32_t too_many = model_context + 1;
  while (too_many - fits > 1) {
    const int32_t middle = fits + (too_many - fits) / 2;
    (cache::pages_for(layout, middle) <= blocks ? fits : too_many) = middle;
  }
  return {.vocabulary = vocabulary, .model_context = model_context, .context = fits};
}

Result<void> check_request(const Request& request, const RequestLimits& limits) {
  const auto* work = std::get_if<Generate>(&request.work);
  if (work == nullptr) return unsupported("this instance serves generation only");
  O3_TRY(check_length(*work, limits));
  O3_TRY(check_tokens(work->prompt, limits.vocabulary, "prompt"));
  if (work->stop_tokens.size() > kMaxStopTokens) {
    return invalid("at most 256 stop tokens, not " + std::to_string(work->stop_tokens.size()),
                   "stop_tokens");
  }
  O3_TRY(check_tokens(work->stop_tokens, limits.vocabulary, "stop_tokens"));
  O3_TRY(check_sampling(work->sampling));
  O3_TRY(check_edits(work->sampling, limits.vocabulary));
  O3_TRY(check_logprobs(work->logprobs, "logprobs"));
  O3_TRY(check_logprobs(work->prompt_logprobs, "prompt_logprobs"));
  if (static_cast<size_t>(request.request_class) > static_cast<size_t>(RequestClass::kLow)) {
    return invalid("unknown request class", "request_class");
  }
  return {};
}

}  // namespace o3::engine
