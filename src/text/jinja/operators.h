// SPDX-License-Identifier: Apache-2.0
// Python's operators on values.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/render_state.h"

namespace o3::text::jinja {

enum class BinaryOp : uint8_t { kAdd, kSub, kMul, kDiv, kFloorDiv, kMod, kPow };

Result<Value> binary(RenderState& state, BinaryOp op, const Value& a, const Value& b);
Result<Value> negate(const Value& value);
Result<Value> plus(const Value& value);

Result<bool> equal(RenderState& state, const Value& a, const Value& b);
Result<std::partial_ordering> order(RenderState& state, const Value& a, const Value& b);
Result<bool> contains(RenderState& state, const Value& container, const Value& item);

bool is_hashable(const Value& value);  // may be a key of a mapping

// items[key] = value, keeping the place of a key that is there.
Result<void> put_item(RenderState& state, std::vector<std::pair<Value, Value>>& items, Value key,
                      Value value);

// What `for` walks over. An iterator is used up by this.
Result<SequencePtr> iterate(RenderState& state, const Value& value);

// Stable order of keys; kInvalid when two cannot be compared.
Result<std::vector<size_t>> sorted_order(RenderState& state, const std::vector<Value>& keys,
                                         bool reverse);

// First match at or after `from`, or npos. Linear in the worst case, which std::string::find is
// not.
size_t find_text(std::string_view text, std::string_view part, size_t from) noexcept;

Result<Value> concatenate(RenderState& state, const TaintedString& a, const TaintedString& b);
Error undefined_error(const Value& value);
Error no_operator(std::string_view symbol, const Value& a, const Value& b);

inline bool is_any_number(const Value& value) noexcept {
  return value.is_number() || value.is_any_int();
}
inline bool is_list_or_tuple(const Value& value) noexcept {
  return value.is_sequence() && value.as_sequence().flavour <= Sequence::Flavour::kTuple;
}  // value is kUndefined

}  // namespace o3::text::jinja
