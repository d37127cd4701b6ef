// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/access.h"

#include <algorithm>
#include <string>

#include "text/jinja/call.h"
#include "text/jinja/operators.h"
#include "text/jinja/print.h"
#include "text/jinja/unicode.h"

namespace o3::text::jinja {
namespace {

std::string described(const Value& object) {
  if (object.is_none()) return "None";
  return std::string(object.type_name()) + " object";
}

Value no_attribute(const Value& object, std::string_view name) {
  return Value::undefined("'" + described(object) + "' has no attribute '" + std::string(name) +
                          "'");
}

// A method or an attribute, never a member; kUndefined when there is none.
Result<Value> python_attribute(RenderState& state, const Value& object, std::string_view name) {
  if (object.kind() == Value::Kind::kObject) {
    O3_TRY(state.charge(object.as_object()->attribute_cost(name)));
    O3_ASSIGN(Value value, object.as_object()->attribute(name));
    return value.is_undefined() ? no_attribute(object, name) : value;
  }
  if (object.is_sequence() && object.as_sequence().label == kGroupLabel) {
    if (name == "grouper") return object.as_sequence().items[0];
    if (name == "list") return object.as_sequence().items[1];
  }
  if (const Builtin* method = find_method(object, name)) {
    O3_TRY(state.charge(1));
    return Value(std::make_shared<const BoundMethod>(BoundMethod{object, method}));
  }
  if (is_mutating_method(object, name)) {
    return Value::undefined("'" + std::string(name) + "' would change a " +
                            std::string(object.type_name()) + ", which templates may not");
  }
  return no_attribute(object, name);
}

Result<const Value*> dict_member(RenderState& state, const Dict& dict, const Value& key) {
  O3_TRY(state.charge(1 + dict.items.size() / 8));
  if (key.is_string()) return dict.find(key.as_string().view());
  for (const auto& [name, value] : dict.items) {
    O3_ASSIGN(const bool same, equal(state, name, key));
    if (same) return &value;
  }
  return static_cast<const Value*>(nullptr);
}

Result<std::optional<Value>> indexed(RenderState& state, const Value& object, int64_t index) {
  if (object.is_sequence() && object.as_sequence().indexable()) {
    const std::vector<Value>& items = object.as_sequence().items;
    const auto size = static_cast<int64_t>(items.size());
    if (index < -size || index >= size) return std::optional<Value>();
    return std::optional<Value>(items[static_cast<size_t>(index < 0 ? index + size : index)]);
  }
  if (!object.is_string()) return std::optional<Value>();
  const TaintedString& text = object.as_string();
  O3_TRY(state.charge(1 + text.size() / 16));
  const auto size = static_cast<int64_t>(count_code_points(text.view()));
  if (index < -size || index >= size) return std::optional<Value>();
  size_t pos = 0;
  for (int64_t i = index < 0 ? index + size : index; i > 0; --i)
    pos += utf8_length(text.text()[pos]);
  const size_t end = pos + utf8_length(text.text()[pos]);
  return std::optional<Value>(Value(text.slice(pos, end)).with_markup(object.is_markup()));
}

// Python's slice.indices(): first index, step, and how many.
struct SlicePlan {
  int64_t first;
  int64_t step;
  int64_t count;
};

SlicePlan plan_slice(const SliceBounds& bounds, int64_t size) {
  const int64_t step = bounds.step.value_or(1);
  const int64_t low = step < 0 ? -1 : 0;
  const int64_t high = step < 0 ? size - 1 : size;
  const auto clamp = [&](int64_t at) {
    return at < 0 ? std::max(at + size, low) : std::min(at, high);
  };
  const int64_t begin = bounds.begin ? clamp(*bounds.begin) : (step < 0 ? high : low);
  const int64_t end = bounds.end ? clamp(*bounds.end) : (step < 0 ? low : high);
  const int64_t span = step < 0 ? begin - end : end - begin;
  if (span <= 0) return {begin, step, 0};
  const uint64_t stride = step < 0 ? 0 - static_cast<uint64_t>(step) : static_cast<uint64_t>(step);
  return {begin, step, static_cast<int64_t>((static_cast<uint64_t>(span) - 1) / stride + 1)};
}

Result<Value> slice_string(RenderState& state, const TaintedString& text,
                           const SliceBounds& bounds) {
  O3_TRY(state.charge(text.copy_cost()));
  if (bounds.step.value_or(1) != 1) O3_TRY(state.charge(text.size()));
  std::vector<size_t> starts;  // of each code point, and the end
  starts.reserve(text.size() + 1);
  for (size_t pos = 0; pos < text.size(); pos += utf8_length(text.text()[pos])) {
    starts.push_back(pos);
  }
  starts.push_back(text.size());
  const SlicePlan plan = plan_slice(bounds, static_cast<int64_t>(starts.size()) - 1);
  if (plan.count == 0) return Value(TaintedString());
  if (plan.step == 1) {
    const auto first = static_cast<size_t>(plan.first);
    return Value(text.slice(starts[first], starts[first + static_cast<size_t>(plan.count)]));
  }
  TaintedString out;
  for (int64_t i = 0; i < plan.count; ++i) {
    const auto at = static_cast<size_t>(plan.first + i * plan.step);
    out.append_slice(text, starts[at], starts[at + 1]);
  }
  return Value(std::move(out));
}

}  // namespace

Result<Value> get_attribute(RenderState& state, const Value& object, std::string_view name) {
  if (object.is_undefined()) return undefined_error(object);
  O3_ASSIGN(Value found, python_attribute(state, object, name));
  if (!found.is_undefined() || !object.is_dict()) return found;
  O3_TRY(state.charge(1 + object.as_dict().items.size() / 8));
  const Value* member = object.as_dict().find(name);
  if (member != nullptr) return *member;
  return found;
}

Result<Value> get_item(RenderState& state, const Value& object, const Value& key) {
  if (object.is_undefined()) return undefined_error(object);
  if (object.is_dict() && is_hashable(key)) {
    O3_ASSIGN(const Value* member, dict_member(state, object.as_dict(), key));
    if (member != nullptr) return *member;
  }
  if (key.is_integral()) {
    O3_ASSIGN(std::optional<Value> item, indexed(state, object, key.as_int()));
    if (item) return *std::move(item);
  }
  if (key.is_string()) return python_attribute(state, object, key.as_string().view());
  O3_ASSIGN(const TaintedString shown, repr(state, key));
  return Value::undefined(described(object) + " has no element " + shown.text());
}

Result<Value> get_slice(RenderState& state, const Value& object, const SliceBounds& bounds) {
  if (object.is_undefined()) return undefined_error(object);
  if (bounds.step == 0) return invalid("slice step cannot be zero");
  if (object.is_string()) {
    O3_ASSIGN(const Value part, slice_string(state, object.as_string(), bounds));
    return part.with_markup(object.is_markup());
  }
  if (!object.is_sequence() || !object.as_sequence().indexable()) {
    return invalid(described(object) + " cannot be sliced");
  }
  const Sequence& sequence = object.as_sequence();
  const SlicePlan plan = plan_slice(bounds, static_cast<int64_t>(sequence.items.size()));
  O3_TRY(state.charge(1 + static_cast<uint64_t>(plan.count)));
  std::vector<Value> items;
  for (int64_t i = 0; i < plan.count; ++i) {
    items.push_back(sequence.items[static_cast<size_t>(plan.first + i * plan.step)]);
  }
  return make_sequence(sequence.flavour, std::move(items));  // of a range: see print.cc
}

}  // namespace o3::text::jinja
