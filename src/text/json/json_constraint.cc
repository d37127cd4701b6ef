// SPDX-License-Identifier: Apache-2.0
#include "text/json/json_constraint.h"

#include <algorithm>

#include "base/check.h"

namespace o3::text {

Result<JsonConstraintFactory> json_object_constraints(const Tokenizer& tokenizer,
                                                      const JsonLimits& limits) {
  O3_ASSIGN(const JsonMachine machine, JsonMachine::create(limits));
  O3_ASSIGN(std::shared_ptr<const JsonVocabulary> vocabulary, JsonVocabulary::create(tokenizer));
  return JsonConstraintFactory([machine, vocabulary = std::move(vocabulary)] {
    return std::make_unique<JsonConstraint>(vocabulary, machine);
  });
}

void JsonConstraint::fill(std::span<uint32_t> bits) const {
  if (!complete()) {
    vocabulary_->fill(machine_, states_.back(), bits);
    return;
  }
  std::fill(bits.begin(), bits.end(), 0u);
  const auto end = static_cast<uint32_t>(vocabulary_->end());
  bits[end / 32] |= 1u << (end % 32);
}

bool JsonConstraint::accept(Token token) {
  JsonState state = states_.back();
  if (JsonMachine::complete(state)) {
    if (token != vocabulary_->end()) return false;
  } else {
    const std::string_view bytes = vocabulary_->bytes(token);
    if (bytes.empty()) return false;
    for (const char byte : bytes) {
      if (!machine_.advance(state, static_cast<uint8_t>(byte))) return false;
    }
  }
  states_.push_back(state);
  return true;
}

void JsonConstraint::rollback(int32_t count) {
  O3_CHECK(count >= 0 && static_cast<size_t>(count) < states_.size(),
           "only accepted tokens are rolled back");
  states_.resize(states_.size() - static_cast<size_t>(count));
}

}  // namespace o3::text
