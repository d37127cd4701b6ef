// SPDX-License-Identifier: Apache-2.0
// From one row of logits to one token. No full sort: a row costs a few passes over it.
#pragma once

#include <cstdint>
#include <span>

#include "base/ids.h"
#include "base/result.h"
#include "engine/request.h"
#include "engine/truncation.h"

namespace o3::engine {

// Whether the token of the largest logit is taken without a draw.
inline bool is_greedy(const SamplingParams& params) noexcept {
  return params.temperature == 0.0F || params.top_k == 1;
}

// The result depends on the arguments of sample() only, and is the same on every machine. One per
// engine thread.
class Sampler {
 public:
  explicit Sampler(int32_t vocabulary) : truncation_(vocabulary) {}

  // What sample() would say of greedy parameters, when a device has looked for the largest logit:
  // -1 stands for none.
  static Result<Token> found(Token best);

  // `logits` [vocabulary], already edited (logit_edits.h), is overwritten where `mask` forbids.
  // `mask` is empty, or has bit t set for every allowed token t (vocabulary/32 words, rounded up).
  // `position` is the place in the sequence that the token will take. kInternal when no allowed
  // logit is finite.
  Result<Token> sample(std::span<float> logits, const SamplingParams& params,
                       std::span<const uint32_t> mask, uint32_t position);

 private:
  Token draw(double u) const;

  Truncation truncation_;
};

}  // namespace o3::engine
