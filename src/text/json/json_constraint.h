// SPDX-License-Identifier: Apache-2.0
// response_format {"type": "json_object"}: the answer is one JSON object and nothing else.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "text/json/json_machine.h"
#include "text/json/json_vocabulary.h"
#include "text/token_constraint.h"

namespace o3::text {

// One per sequence; engine thread only. When the object is closed only the end token is allowed,
// and before that never.
class JsonConstraint final : public TokenConstraint {
 public:
  JsonConstraint(std::shared_ptr<const JsonVocabulary> vocabulary, const JsonMachine& machine)
      : vocabulary_(std::move(vocabulary)), machine_(machine), states_(1) {}

  void fill(std::span<uint32_t> bits) const override;
  bool accept(Token token) override;
  void rollback(int32_t count) override;
  bool complete() const noexcept override { return JsonMachine::complete(states_.back()); }

 private:
  std::shared_ptr<const JsonVocabulary> vocabulary_;
  JsonMachine machine_;
  std::vector<JsonState> states_;  // before any token, and behind each accepted one
};

// Makes the constraint of one sequence; may be called on any thread, again and again.
using JsonConstraintFactory = std::function<std::unique_ptr<TokenConstraint>()>;

// Arranges the vocabulary (tens of milliseconds), once for all constraints. kUnsupported when the
// model cannot be held to JSON.
Result<JsonConstraintFactory> json_object_constraints(const Tokenizer& tokenizer,
                                                      const JsonLimits& limits = {});

}  // namespace o3::text
