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

Result<Value> join_sequences(RenderState& state, const Sequence& a, const Sequence& b) {
  O3_TRY(state.charge(a.items.size() + b.items.size()));
  std::vector<Value> items = a.items;
  items.insert(items.end(), b.items.begin(), b.items.end());
  return make_sequence(a.flavour, std::move(items));
}

}  // namespace

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

Error no_operator(std::string_view symbol, const Value& a, const Value& b) {
  return invalid("unsupported operand types for " + std::string(symbol) + ": '" +
                 std::string(a.type_name()) + "' and '" + std::string(b.type_name()) + "'");
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

}  // namespace o3::text::jinja
