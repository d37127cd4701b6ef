// SPDX-License-Identifier: Apache-2.0
// What the engine is asked to do. A Request is immutable once submitted and shared read-only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "text/token_constraint.h"

namespace o3::engine {

// Which loaded model a request is for: index into the engine's instances (main, draft, degraded
// channel, embedder, versions).
using InstanceId = Id<struct InstanceTag, uint32_t>;

struct TokenBias {
  Token token = 0;
  float bias = 0.0F;  // -100 to 100, added to the logit
};

// Applied in the order penalties, bias, bad words, min_tokens, mask, temperature, top-k, top-p
// (over what top-k left), min-p, typical (over what those left).
struct SamplingParams {
  float temperature = 1.0F;  // 0 to 100; 0: greedy (lowest id wins a tie)
  int32_t top_k = 0;         // >= 0; 0: off
  float top_p = 1.0F;        // (0, 1]; 1: off
  float min_p = 0.0F;        // [0, 1]: a token needs this share of the likeliest's probability
  float typical_p = 1.0F;    // (0, 1]; 1: off
  float repetition_penalty = 1.0F;  // [0.01, 100], of tokens in prompt or answer; 1: off
  float presence_penalty = 0.0F;    // [-2, 2], of tokens in the answer
  float frequency_penalty = 0.0F;   // [-2, 2], the same, times how often they came
  uint64_t seed = 0;  // randomness = f(seed, choice, position in the sequence), no more
  uint32_t choice = 0;
  int32_t min_tokens = 0;                       // >= 0: no stop token is sampled before
  std::vector<TokenBias> bias{};                // at most 1024
  std::vector<std::vector<Token>> bad_words{};  // never sampled; at most 256, of 1 to 64 tokens
};

// Makes the per-sequence mask, or is empty. Called on the engine thread at admission.
using ConstraintFactory = std::function<std::unique_ptr<text::TokenConstraint>()>;

struct Generate {
  std::vector<Token> prompt;  // at least one token
  SamplingParams sampling;
  int32_t max_new_tokens = 0;      // >= 1; prompt + max_new_tokens fits the context
  std::vector<Token> stop_tokens;  // at most 256; one ends the sequence and is not delivered
  ConstraintFactory constraint;
  std::optional<int32_t> logprobs{};         // of each token, and so many likeliest beside it: 0-20
  std::optional<int32_t> prompt_logprobs{};  // the same for the prompt's tokens but the first
  bool reuse_prefix = true;  // what the cache knows of the prompt is not computed again
};
// Seams: the same admission, classes and step budget; no KV. Their issues fill them in.
struct Embed {};
struct Score {};
struct Tensors {};

struct Request {
  RequestId id;
  InstanceId instance;
  CacheDomain domain;
  RequestClass request_class = RequestClass::kNormal;
  std::optional<Nanoseconds> deadline;  // absolute, monotonic
  std::variant<Generate, Embed, Score, Tensors> work;
};

// The one end of a request.
struct Finish {
  Outcome outcome = Outcome::kStop;
  std::optional<Error> error;         // with kError, kDeadline
  int32_t prompt_tokens = 0;          // in the cache; fewer than the prompt's when cut short
  int32_t completion_tokens = 0;      // sampled tokens, a stop token included
  std::optional<Token> stop_token{};  // with kStop: the stop token that ended it
};

struct RankedToken {
  Token token = 0;
  float logprob = 0.0F;
};

// Natural logarithms, of the model's own distribution (before all that SamplingParams does).
struct TokenLogprobs {
  float logprob = 0.0F;
  int32_t rank = 1;                // 1: the likeliest
  std::vector<RankedToken> top{};  // likeliest first
};

// What one step produced for one request.
struct Delta {
  RequestId id;
  std::vector<Token> tokens;
  std::optional<Finish> finish;           // set exactly once, in the last delta of the request
  std::vector<TokenLogprobs> logprobs{};  // of each of `tokens`, if asked for
  std::vector<TokenLogprobs> prompt_logprobs{};  // of the prompt's next tokens, in order
  int32_t cached_tokens = 0;  // of the prompt: were in the KV cache when the request was admitted
};

// Receives the deltas of all requests submitted with it, one call per engine step. Called on the
// engine thread; must only move the vector into a queue and return.
class DeltaSink {
 public:
  virtual ~DeltaSink() = default;
  virtual void deliver(std::vector<Delta> deltas) noexcept = 0;
};

}  // namespace o3::engine
