// SPDX-License-Identifier: Apache-2.0
// Tests: what stands behind `is`.
#include <array>
#include <string>

#include "text/jinja/call.h"
#include "text/jinja/operators.h"
#include "text/jinja/print.h"

namespace o3::text::jinja {
namespace {

template <Value::Kind kind>
Result<Value> test_kind(Call& call) {
  return Value(call.self.kind() == kind);
}

Result<Value> test_defined(Call& call) {
  return Value(!call.self.is_undefined());
}
Result<Value> test_number(Call& call) {
  return Value(call.self.is_number() || call.self.is_any_int());
}
Result<Value> test_integer(Call& call) {
  return Value(call.self.is_any_int());
}

Result<Value> test_escaped(Call& call) {
  return Value(call.self.is_markup());
}

template <bool wanted>
Result<Value> test_bool(Call& call) {
  return Value(call.self.kind() == Value::Kind::kBool && call.self.as_bool() == wanted);
}

Result<Value> test_iterable(Call& call) {
  return Value(call.self.is_sequence() || call.self.is_dict() || call.self.is_string() ||
               call.self.is_undefined());
}

// Has a length and could be indexed, which Python's view of Undefined satisfies.
Result<Value> test_sequence(Call& call) {
  const bool indexable = call.self.is_sequence() && call.self.as_sequence().indexable();
  return Value(indexable || call.self.is_dict() || call.self.is_string() ||
               call.self.is_undefined());
}

Result<Value> test_callable(Call& call) {
  switch (call.self.kind()) {
    case Value::Kind::kFunction:
    case Value::Kind::kMethod:
    case Value::Kind::kUndefined:
      return Value(true);
    case Value::Kind::kObject:
      return Value(call.self.as_object()->is_callable());
    default:
      return Value(false);
  }
}

Result<Value> remainder(Call& call, const Value& divisor) {
  return binary(*call.state, BinaryOp::kMod, call.self, divisor);
}

template <int64_t wanted>
Result<Value> test_parity(Call& call) {
  O3_ASSIGN(const Value rest, remainder(call, Value(int64_t{2})));
  return Value(rest.is_number() && rest.as_number() == wanted);
}

Result<Value> test_divisibleby(Call& call) {
  O3_ASSIGN(const Value rest, remainder(call, *call.arg(0)));
  return Value(rest.is_number() && rest.as_number() == 0);
}

template <bool upper>
Result<Value> test_case(Call& call) {
  O3_ASSIGN(StringPtr text, to_string(*call.state, call.self));
  Call inner{.state = call.state, .self = Value(std::move(text)), .positional = {}, .named = {}};
  const Builtin* method = find_method(inner.self, upper ? "isupper" : "islower");
  return invoke(*method, inner, "test");
}

template <bool wanted>
Result<Value> test_equal(Call& call) {
  O3_ASSIGN(const bool same, equal(*call.state, call.self, *call.arg(0)));
  return Value(same == wanted);
}

template <bool less, bool or_equal>
Result<Value> test_order(Call& call) {
  O3_ASSIGN(const std::partial_ordering ordering, order(*call.state, call.self, *call.arg(0)));
  const auto strict = less ? std::partial_ordering::less : std::partial_ordering::greater;
  return Value(ordering == strict || (or_equal && ordering == std::partial_ordering::equivalent));
}

Result<Value> test_in(Call& call) {
  O3_ASSIGN(const bool found, contains(*call.state, *call.arg(0), call.self));
  return Value(found);
}

// Values of different types are never the same object. Of equal types identity is known for the
// singletons and for the small integers, of which Python has one each.
Result<Value> test_sameas(Call& call) {
  const Value& other = *call.arg(0);
  if (call.self.kind() != other.kind()) return Value(false);
  if (other.is_none()) return Value(true);
  if (other.kind() == Value::Kind::kBool) return Value(call.self.as_bool() == other.as_bool());
  if (other.kind() == Value::Kind::kInt) {
    if (call.self.as_int() != other.as_int()) return Value(false);
    if (other.as_int() >= -5 && other.as_int() <= 256) return Value(true);
  }
  return unsupported("the test 'sameas' works with true, false, none and small integers only");
}

template <const Builtin* (*find)(std::string_view)>
Result<Value> test_exists(Call& call) {
  // jinja2 looks the name up in a dict: what is not hashable is an error there.
  if (!is_hashable(call.self)) {
    return invalid("unhashable type: '" + std::string(call.self.type_name()) + "'");
  }
  return Value(call.self.is_string() && find(call.self.as_string().view()) != nullptr);
}

constexpr auto kTests = std::to_array<Builtin>({
    {"!=", "other", 1, &test_equal<false>},
    {"<", "other", 1, &test_order<true, false>},
    {"<=", "other", 1, &test_order<true, true>},
    {"==", "other", 1, &test_equal<true>},
    {">", "other", 1, &test_order<false, false>},
    {">=", "other", 1, &test_order<false, true>},
    {"boolean", "", 0, &test_kind<Value::Kind::kBool>},
    {"callable", "", 0, &test_callable},
    {"defined", "", 0, &test_defined},
    {"divisibleby", "num", 1, &test_divisibleby},
    {"eq", "other", 1, &test_equal<true>},
    {"equalto", "other", 1, &test_equal<true>},
    {"escaped", "", 0, &test_escaped},
    {"even", "", 0, &test_parity<0>},
    {"false", "", 0, &test_bool<false>},
    {"filter", "", 0, &test_exists<&find_filter>},
    {"float", "", 0, &test_kind<Value::Kind::kFloat>},
    {"ge", "other", 1, &test_order<false, true>},
    {"greaterthan", "other", 1, &test_order<false, false>},
    {"gt", "other", 1, &test_order<false, false>},
    {"in", "seq", 1, &test_in},
    {"integer", "", 0, &test_integer},
    {"iterable", "", 0, &test_iterable},
    {"le", "other", 1, &test_order<true, true>},
    {"lessthan", "other", 1, &test_order<true, false>},
    {"lower", "", 0, &test_case<false>},
    {"lt", "other", 1, &test_order<true, false>},
    {"mapping", "", 0, &test_kind<Value::Kind::kDict>},
    {"ne", "other", 1, &test_equal<false>},
    {"none", "", 0, &test_kind<Value::Kind::kNone>},
    {"number", "", 0, &test_number},
    {"odd", "", 0, &test_parity<1>},
    {"sameas", "other", 1, &test_sameas},
    {"sequence", "", 0, &test_sequence},
    {"string", "", 0, &test_kind<Value::Kind::kString>},
    {"test", "", 0, &test_exists<&find_test>},
    {"true", "", 0, &test_bool<true>},
    {"undefined", "", 0, &test_kind<Value::Kind::kUndefined>},
    {"upper", "", 0, &test_case<true>},
});

}  // namespace

const Builtin* find_test(std::string_view name) noexcept {
  return find_in(kTests, name);
}

}  // namespace o3::text::jinja
