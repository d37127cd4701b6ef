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

// Applied in the order mask, temperature, top-k, top-p (over what top-k left).
struct SamplingParams {
  float temperature = 1.0F;  // 0 to 100; 0: greedy (lowest id wins a tie)
  int32_t top_k = 0;         // >= 0; 0: off
  float top_p = 1.0F;        // (0, 1]; 1: off
  uint64_t seed = 0;         // randomness = f(seed, choice, position in the sequence), no more
  uint32_t choice = 0;
};

// Makes the per-sequence mask, or is empty. Called on the engine thread at admission.
using ConstraintFactory = std::function<std::unique_ptr<text::TokenConstraint>()>;

struct Generate {
  std::vector<Token> prompt;  // at least one token
  SamplingParams sampling;
  int32_t max_new_tokens = 0;      // >= 1; prompt + max_new_tokens fits the context
  std::vector<Token> stop_tokens;  // at most 256; one ends the sequence and is not delivered
  ConstraintFactory constraint;
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
  std::optional<Error> error;     // with kError, kDeadline
  int32_t prompt_tokens = 0;      // computed; fewer than the prompt's when cut short
  int32_t completion_tokens = 0;  // sampled tokens, a stop token included
};

// What one step produced for one request.
struct Delta {
  RequestId id;
  std::vector<Token> tokens;
  std::optional<Finish> finish;  // set exactly once, in the last delta of the request
};

// Receives the deltas of all requests submitted with it, one call per engine step. Called on the
// engine thread; must only move the vector into a queue and return.
class DeltaSink {
 public:
  virtual ~DeltaSink() = default;
  virtual void deliver(std::vector<Delta> deltas) noexcept = 0;
};

}  // namespace o3::engine
