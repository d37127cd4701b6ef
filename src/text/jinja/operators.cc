// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/operators.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstring>
#include <numeric>
#include <string>

#include "base/bytes.h"
#include "text/jinja/format.h"
#include "text/jinja/markup.h"
#include "text/jinja/unicode.h"
#include "text/jinja/wide_int.h"

namespace o3::text::jinja {
namespace {

Error no_operator(std::string_view symbol, const Value& a, const Value& b) {
  return invalid("unsupported operand types for " + std::string(symbol) + ": '" +
                 std::string(a.type_name()) + "' and '" + std::string(b.type_name()) + "'");
}

std::string_view symbol_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd:
      return "+";
    case BinaryOp::kSub:
      return "-";
    case BinaryOp::kMul:
      return "*";
    case BinaryOp::kDiv:
      return "/";
    case BinaryOp::kFloorDiv:
      return "//";
    case BinaryOp::kMod:
      return "%";
    case BinaryOp::kPow:
      return "**";
  }
  return "?";
}

// Quotient and remainder of Python's float floor division.
Value float_divmod(double a, double b, bool want_quotient) {
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0) {
    if ((b < 0) != (rest < 0)) {
      rest += b;
      quotient -= 1;
    }
  } else {
    rest = std::copysign(0.0, b);
  }
  if (!want_quotient) return Value(rest);
  if (quotient == 0) return Value(std::copysign(0.0, a / b));
  const double floored = std::floor(quotient);
  return Value(quotient - floored > 0.5 ? floored + 1 : floored);
}

Result<Value> float_power(double a, double b) {
  if (a == 0 && b < 0) return invalid("0.0 cannot be raised to a negative power");
  if (a < 0 && std::isfinite(b) && b != std::floor(b)) {
    return unsupported("complex numbers are not supported");
  }
  const double out = std::pow(a, b);
  if (std::isinf(out) && std::isfinite(a) && std::isfinite(b)) {
    return invalid("the result of ** is too large");
  }
  return Value(out);
}

Result<Value> float_arithmetic(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::kAdd:
      return Value(a + b);
    case BinaryOp::kSub:
      return Value(a - b);
    case BinaryOp::kMul:
      return Value(a * b);
    case BinaryOp::kDiv:
      if (b == 0) return invalid("division by zero");
      return Value(a / b);
    case BinaryOp::kFloorDiv:
    case BinaryOp::kMod:
      if (b == 0) return invalid("float division or modulo by zero");
      return float_divmod(a, b, op == BinaryOp::kFloorDiv);
    case BinaryOp::kPow:
      break;
  }
  return float_power(a, b);
}

bool is_any_number(const Value& value) {
  return value.is_number() || value.is_any_int();
}

Result<Value> number_arithmetic(BinaryOp op, const Value& a, const Value& b) {
  const bool tainted =
      a.scalar_origin() == Origin::kContent || b.scalar_origin() == Origin::kContent;
  const auto whole = [](const Value& value) { return value.is_integral() || value.is_any_int(); };
  const bool wide = a.kind() == Value::Kind::kBigInt || b.kind() == Value::Kind::kBigInt;
  const bool as_float =
      !whole(a) || !whole(b) ||
      (!wide && (op == BinaryOp::kDiv || (op == BinaryOp::kPow && b.as_int() < 0)));
  O3_ASSIGN(Value out, as_float ? float_arithmetic(op, a.as_number(), b.as_number())
                                : wide_arithmetic(op, a, b));
  return out.with_origin(tainted ? Origin::kContent : Origin::kTemplate);
}

Result<Value> repeat(RenderState& state, const Value& value, int64_t times) {
  const auto count = static_cast<uint64_t>(std::max<int64_t>(times, 0));
  if (value.is_string()) {
    const TaintedString& text = value.as_string();
    if (text.empty()) return value;
    const auto cost = checked_mul(text.copy_cost(), count);
    O3_TRY(state.charge(cost.value_or(UINT64_MAX)));
    TaintedString out;
    for (uint64_t i = 0; i < count; ++i) out.append(text);
    return Value(std::move(out)).with_markup(value.is_markup());
  }
  const Sequence& sequence = value.as_sequence();
  const auto cost = checked_mul(sequence.items.size() + 1, count);
  O3_TRY(state.charge(cost.value_or(UINT64_MAX)));
  std::vector<Value> items;
  for (uint64_t i = 0; i < count; ++i) {
    items.insert(items.end(), sequence.items.begin(), sequence.items.end());
  }
  return make_sequence(sequence.flavour, std::move(items));
}

Result<Value> add_strings(RenderState& state, const Value& a, const Value& b) {
  if (!a.is_markup() && !b.is_markup()) return concatenate(state, a.as_string(), b.as_string());
  O3_ASSIGN(const StringPtr left, as_html(state, a));
  O3_ASSIGN(const StringPtr right, as_html(state, b));
  O3_ASSIGN(const Value sum, concatenate(state, *left, *right));
  return sum.with_markup();
}

bool is_list_or_tuple(const Value& value) {
  return value.is_sequence() && value.as_sequence().flavour <= Sequence::Flavour::kTuple;
}

Result<Value> join_sequences(RenderState& state, const Sequence& a, const Sequence& b) {
  O3_TRY(state.charge(a.items.size() + b.items.size()));
  std::vector<Value> items = a.items;
  items.insert(items.end(), b.items.begin(), b.items.end());
  return make_sequence(a.flavour, std::move(items));
}

Result<bool> equal_items(RenderState& state, const std::vector<Value>& a,
                         const std::vector<Value>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    O3_ASSIGN(const bool same, equal(state, a[i], b[i]));
    if (!same) return false;
  }
  return true;
}

Result<bool> equal_dicts(RenderState& state, const Dict& a, const Dict& b) {
  if (a.items.size() != b.items.size()) return false;
  for (const auto& [key, value] : a.items) {
    bool found = false;
    for (const auto& [other_key, other] : b.items) {
      O3_ASSIGN(const bool same_key, equal(state, key, other_key));
      if (!same_key) continue;
      O3_ASSIGN(found, equal(state, value, other));
      break;
    }
    if (!found) return false;
  }
  return true;
}

Result<std::partial_ordering> order_items(RenderState& state, const std::vector<Value>& a,
                                          const std::vector<Value>& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    O3_ASSIGN(const bool same, equal(state, a[i], b[i]));
    if (!same) return order(state, a[i], b[i]);
  }
  return std::partial_ordering(a.size() <=> b.size());
}

// 64 bits of mantissa hold every int64, so that mixed comparisons are exact as Python's are.
long double exact(const Value& value) {
  return value.is_integral() ? static_cast<long double>(value.as_int())
                             : static_cast<long double>(value.as_number());
}

}  // namespace

bool is_hashable(const Value& value) {
  if (value.is_dict()) return false;
  if (!value.is_sequence()) return true;
  const Sequence& sequence = value.as_sequence();
  if (sequence.flavour != Sequence::Flavour::kTuple) {
    return sequence.flavour == Sequence::Flavour::kRange || !sequence.sized();
  }
  return std::all_of(sequence.items.begin(), sequence.items.end(), is_hashable);
}

Result<void> put_item(RenderState& state, std::vector<std::pair<Value, Value>>& items, Value key,
                      Value value) {
  if (!is_hashable(key)) return invalid("unhashable type: '" + std::string(key.type_name()) + "'");
  O3_TRY(state.charge(1));
  for (auto& [name, old] : items) {
    O3_ASSIGN(const bool same, equal(state, name, key));
    if (!same) continue;
    old = std::move(value);
    return {};
  }
  items.emplace_back(std::move(key), std::move(value));
  return {};
}

size_t find_text(std::string_view text, std::string_view part, size_t from) noexcept {
  if (from > text.size()) return std::string_view::npos;
  if (part.empty()) return from;
  const void* hit = memmem(text.data() + from, text.size() - from, part.data(), part.size());
  if (hit == nullptr) return std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(hit) - text.data());
}

Error undefined_error(const Value& value) {
  return invalid(value.undefined_why());
}

Result<Value> concatenate(RenderState& state, const TaintedString& a, const TaintedString& b) {
  O3_TRY(state.charge(a.copy_cost() + b.copy_cost()));
  TaintedString out = a;
  out.append(b);
  return Value(std::move(out));
}

Result<Value> binary(RenderState& state, BinaryOp op, const Value& a, const Value& b) {
  if (a.is_undefined()) return undefined_error(a);
  if (op == BinaryOp::kMod && a.is_string()) return percent_format(state, a, b);
  if (b.is_undefined()) return undefined_error(b);
  if (is_any_number(a) && is_any_number(b)) return number_arithmetic(op, a, b);
  if (op == BinaryOp::kAdd) {
    if (a.is_string() && b.is_string()) return add_strings(state, a, b);
    if (is_list_or_tuple(a) && is_list_or_tuple(b) &&
        a.as_sequence().flavour == b.as_sequence().flavour) {
      return join_sequences(state, a.as_sequence(), b.as_sequence());
    }
  }
  if (op == BinaryOp::kMul) {
    if ((a.is_string() || is_list_or_tuple(a)) && b.is_integral()) {
      return repeat(state, a, b.as_int());
    }
    if ((b.is_string() || is_list_or_tuple(b)) && a.is_integral()) {
      return repeat(state, b, a.as_int());
    }
  }
  return no_operator(symbol_of(op), a, b);
}

Result<Value> negate(const Value& value) {
  if (value.is_undefined()) return undefined_error(value);
  if (value.kind() == Value::Kind::kFloat) {
    return Value(-value.as_number()).with_origin(value.scalar_origin());
  }
  if (value.kind() == Value::Kind::kBigInt) return wide_negated(value);
  if (!value.is_integral()) {
    return invalid("bad operand type for unary -: '" + std::string(value.type_name()) + "'");
  }
  O3_ASSIGN(const Value out, wide_arithmetic(BinaryOp::kSub, Value(int64_t{0}), value));
  return out.with_origin(value.scalar_origin());
}

Result<Value> plus(const Value& value) {
  if (value.is_undefined()) return undefined_error(value);
  if (value.kind() == Value::Kind::kFloat || value.kind() == Value::Kind::kBigInt) return value;
  if (!value.is_integral()) {
    return invalid("bad operand type for unary +: '" + std::string(value.type_name()) + "'");
  }
  return Value(value.as_int()).with_origin(value.scalar_origin());
}

Result<bool> equal(RenderState& state, const Value& a, const Value& b) {
  O3_TRY(state.charge(1));
  if (a.is_number() && b.is_number()) return exact(a) == exact(b);
  if (is_any_number(a) && is_any_number(b)) return std::is_eq(wide_order(a, b));
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Value::Kind::kUndefined:
    case Value::Kind::kNone:
      return true;
    case Value::Kind::kString: {
      const TaintedString& left = a.as_string();
      const TaintedString& right = b.as_string();
      if (left.size() != right.size()) return false;
      O3_TRY(state.charge(left.size() / 16));
      return left.text() == right.text();
    }
    case Value::Kind::kSequence: {
      const Sequence& left = a.as_sequence();
      const Sequence& right = b.as_sequence();
      if (left.flavour != right.flavour) return false;
      if (!left.sized()) return &left == &right;
      return equal_items(state, left.items, right.items);
    }
    case Value::Kind::kDict:
      return equal_dicts(state, a.as_dict(), b.as_dict());
    case Value::Kind::kFunction:
      return a.as_function() == b.as_function();
    case Value::Kind::kMethod:
      return &a.as_method() == &b.as_method();
    case Value::Kind::kObject:
      return a.as_object() == b.as_object();
    default:
      return false;
  }
}

Result<std::partial_ordering> order(RenderState& state, const Value& a, const Value& b) {
  O3_TRY(state.charge(1));
  if (a.is_undefined()) return undefined_error(a);
  if (b.is_undefined()) return undefined_error(b);
  if (a.is_number() && b.is_number()) return exact(a) <=> exact(b);
  if (is_any_number(a) && is_any_number(b)) return wide_order(a, b);
  if (a.is_string() && b.is_string()) {
    O3_TRY(state.charge(std::min(a.as_string().size(), b.as_string().size()) / 16));
    // UTF-8 sorts as its code points do.
    return std::partial_ordering(a.as_string().view() <=> b.as_string().view());
  }
  if (is_list_or_tuple(a) && is_list_or_tuple(b) &&
      a.as_sequence().flavour == b.as_sequence().flavour) {
    return order_items(state, a.as_sequence().items, b.as_sequence().items);
  }
  return no_operator("comparison", a, b);
}

Result<bool> contains(RenderState& state, const Value& container, const Value& item) {
  if (container.is_string()) {
    if (!item.is_string()) {
      return invalid("'in <string>' requires string as left operand, not " +
                     std::string(item.type_name()));
    }
    O3_TRY(state.charge(1 + container.as_string().size() / 16));
    return find_text(container.as_string().view(), item.as_string().view(), 0) !=
           std::string_view::npos;
  }
  if (container.is_dict()) {
    O3_TRY(state.charge(1 + container.as_dict().items.size() / 8));
    if (item.is_string()) return container.as_dict().find(item.as_string().view()) != nullptr;
    if (!is_hashable(item)) {
      return invalid("unhashable type: '" + std::string(item.type_name()) + "'");
    }
  }
  O3_ASSIGN(const SequencePtr items, iterate(state, container));
  for (const Value& candidate : items->items) {
    O3_ASSIGN(const bool same, equal(state, candidate, item));
    if (same) return true;
  }
  return false;
}

Result<SequencePtr> iterate(RenderState& state, const Value& value) {
  if (value.is_sequence()) {
    const SequencePtr& sequence = value.sequence_ptr();
    if (sequence->sized()) return sequence;
    if (!sequence->consumed) {
      sequence->consumed = true;
      if (sequence->failure) return *sequence->failure;
      return sequence;
    }
    return std::make_shared<const Sequence>();
  }
  auto items = std::make_shared<Sequence>();
  if (value.is_undefined()) return SequencePtr(items);
  if (value.is_dict()) {
    O3_TRY(state.charge(value.as_dict().items.size()));
    for (const auto& [key, unused] : value.as_dict().items) items->items.push_back(key);
    return SequencePtr(items);
  }
  if (value.is_string()) {
    const TaintedString& text = value.as_string();
    O3_TRY(state.charge(4 * text.size() + text.copy_cost()));
    for (size_t pos = 0; pos < text.size();) {
      const size_t end = pos + utf8_length(text.text()[pos]);
      items->items.emplace_back(text.slice(pos, end));
      pos = end;
    }
    return SequencePtr(items);
  }
  return invalid("'" + std::string(value.type_name()) + "' object is not iterable");
}

Result<std::vector<size_t>> sorted_order(RenderState& state, const std::vector<Value>& keys,
                                         bool reverse) {
  std::vector<size_t> indexes(keys.size());
  std::iota(indexes.begin(), indexes.end(), size_t{0});
  // Merge sort by hand: a comparison may fail, which std::stable_sort cannot express.
  std::vector<size_t> merged(keys.size());
  for (size_t width = 1; width < indexes.size(); width *= 2) {
    for (size_t begin = 0; begin < indexes.size(); begin += 2 * width) {
      const size_t middle = std::min(begin + width, indexes.size());
      const size_t end = std::min(begin + 2 * width, indexes.size());
      size_t left = begin;
      size_t right = middle;
      for (size_t out = begin; out < end; ++out) {
        bool take_right = left == middle;
        if (!take_right && right < end) {
          const Value& a = keys[indexes[right]];
          const Value& b = keys[indexes[left]];
          O3_ASSIGN(const std::partial_ordering ordering,
                    reverse ? order(state, b, a) : order(state, a, b));
          take_right = ordering == std::partial_ordering::less;
        }
        merged[out] = indexes[take_right ? right++ : left++];
      }
    }
    indexes.swap(merged);
  }
  return indexes;
}

}  // namespace o3::text::jinja
