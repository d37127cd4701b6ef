// SPDX-License-Identifier: Apache-2.0
// The sampler's mask hook: which tokens may come next. One per sequence, engine thread only, filled
// while the forward pass runs. Supports rollback, which speculative decoding needs.
#pragma once

#include <cstdint>
#include <span>

#include "base/ids.h"

namespace o3::text {

class TokenConstraint {
 public:
  virtual ~TokenConstraint() = default;

  // Sets bit t of bits (vocabulary/32 words, rounded up) iff token t may come next. At least one
  // bit is always set: when the text is complete that is the end-of-sequence token.
  virtual void fill(std::span<uint32_t> bits) const = 0;

  // Takes a sampled token; false (and no change) if the mask does not allow it.
  virtual bool accept(Token token) = 0;

  // Undoes the last `count` accepted tokens.
  virtual void rollback(int32_t count) = 0;

  // The accepted text is complete and nothing but the end may follow.
  virtual bool complete() const noexcept = 0;
};

}  // namespace o3::text
