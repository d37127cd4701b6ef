// SPDX-License-Identifier: Apache-2.0
// What one render may spend. Templates and messages are untrusted: every loop that they can make
// long, and every byte that they can make us copy, is paid for here.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace o3::text::jinja {

// Values nested deeper than this are refused, so that printing, comparing and freeing them may
// recurse.
constexpr int kMaxValueDepth = 100;
// Syntax nested deeper than this is refused, so that walking and freeing the tree may recurse.
constexpr int kMaxSyntaxDepth = 100;
// Python's sandbox for Jinja has the same limit.
constexpr int64_t kMaxRange = 100'000;

class Budget {
 public:
  explicit Budget(uint64_t steps) : left_(steps) {}

  Result<void> charge(uint64_t steps) {
    if (steps > left_) {
      left_ = 0;
      return Error{Code::kTooLong, "the chat template ran for too many steps on this input", {}};
    }
    left_ -= steps;
    return {};
  }

 private:
  uint64_t left_;
};

}  // namespace o3::text::jinja
