// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "text/jinja/access.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/lexer.h"
#include "text/jinja/markup.h"
#include "text/jinja/operators.h"
#include "text/jinja/print.h"

namespace o3::text::jinja {

Result<Value> Interpreter::evaluate(const Expr& expr) {
  O3_TRY(state_->charge(1));
  O3_TRY(enter());
  Result<Value> value = std::visit([this](const auto& node) { return evaluate(node); }, expr.node);
  leave();
  if (!value.ok()) return located(std::move(value).error(), expr.line);
  return value;
}

Result<Value> Interpreter::evaluate_optional(const ExprPtr& expr) {
  if (expr == nullptr) return Value();
  return evaluate(*expr);
}

Result<Value> Interpreter::evaluate(const NameExpr& expr) {
  const ScopeStack::Found found = scopes_.find(expr.name);
  O3_TRY(state_->charge(ScopeStack::cost(expr.name, found.scopes)));
  if (found.value != nullptr) return *found.value;
  if (const Builtin* function = find_function(expr.name)) return Value(function);
  return Value::undefined("'" + expr.name + "' is undefined");
}

Result<Value> Interpreter::evaluate(const SequenceExpr& expr) {
  O3_TRY(state_->charge(4 + expr.items.size()));
  std::vector<Value> items;
  for (const ExprPtr& item : expr.items) {
    O3_ASSIGN(Value value, evaluate(*item));
    items.push_back(std::move(value));
  }
  return make_sequence(expr.flavour, std::move(items));
}

Result<Value> Interpreter::evaluate(const DictExpr& expr) {
  O3_TRY(state_->charge(4 + expr.items.size()));
  std::vector<std::pair<Value, Value>> items;
  for (const auto& [key_expr, value_expr] : expr.items) {
    O3_ASSIGN(Value key, evaluate(*key_expr));
    O3_ASSIGN(Value value, evaluate(*value_expr));
    O3_TRY(put_item(*state_, items, std::move(key), std::move(value)));
  }
  return make_dict(std::move(items));
}

Result<Value> Interpreter::evaluate(const AttributeExpr& expr) {
  O3_ASSIGN(const Value object, evaluate(*expr.object));
  return get_attribute(*state_, object, expr.name);
}

Result<Value> Interpreter::evaluate(const ItemExpr& expr) {
  O3_ASSIGN(const Value object, evaluate(*expr.object));
  O3_ASSIGN(const Value key, evaluate(*expr.key));
  return get_item(*state_, object, key);
}

Result<Value> Interpreter::evaluate(const SliceExpr& expr) {
  O3_ASSIGN(const Value object, evaluate(*expr.object));
  SliceBounds bounds;
  const std::pair<const ExprPtr*, std::optional<int64_t>*> parts[] = {
      {&expr.begin, &bounds.begin}, {&expr.end, &bounds.end}, {&expr.step, &bounds.step}};
  for (const auto& [part, bound] : parts) {
    O3_ASSIGN(const Value value, evaluate_optional(*part));
    if (value.is_none()) continue;
    if (!value.is_integral()) {
      return invalid("slice indices must be integers, not " + std::string(value.type_name()));
    }
    *bound = value.as_int();
  }
  return get_slice(*state_, object, bounds);
}

Result<Call> Interpreter::prepare(Value self, const Arguments& arguments) {
  Call call{.state = state_, .self = std::move(self), .positional = {}, .named = {}};
  for (const ExprPtr& argument : arguments.positional) {
    O3_ASSIGN(Value value, evaluate(*argument));
    call.positional.push_back(std::move(value));
  }
  for (const auto& [name, argument] : arguments.named) {
    O3_ASSIGN(Value value, evaluate(*argument));
    call.named.emplace_back(name, std::move(value));
  }
  O3_TRY(add_splatted(arguments, call));
  return call;
}

// *sequence and **mapping.
Result<void> Interpreter::add_splatted(const Arguments& arguments, Call& call) {
  if (arguments.more_positional != nullptr) {
    O3_ASSIGN(const Value more, evaluate(*arguments.more_positional));
    if (more.is_undefined()) return undefined_error(more);
    O3_ASSIGN(const SequencePtr items, iterate(*state_, more));
    O3_TRY(state_->charge(items->items.size()));
    call.positional.insert(call.positional.end(), items->items.begin(), items->items.end());
  }
  if (arguments.more_named == nullptr) return {};
  O3_ASSIGN(const Value more, evaluate(*arguments.more_named));
  if (!more.is_dict()) {
    return invalid("argument after ** must be a mapping, not " + std::string(more.type_name()));
  }
  const auto& members = more.as_dict().items;
  // Names are compared with each other and with parameters, one by one.
  O3_TRY(state_->charge(members.size() * (members.size() + call.named.size() + 8) / 4));
  for (const auto& [key, value] : members) {
    if (!key.is_string()) return invalid("keywords must be strings");
    const std::string_view name = key.as_string().view();
    const bool twice = std::any_of(call.named.begin(), call.named.end(),
                                   [&](const auto& other) { return other.first == name; });
    if (twice) return invalid("got multiple values for argument '" + std::string(name) + "'");
    call.splatted.push_back(key.string_ptr());
    call.named.emplace_back(name, value);
  }
  return {};
}

Result<Value> Interpreter::call_value(const Value& callee, Call call) {
  switch (callee.kind()) {
    case Value::Kind::kUndefined:
      return undefined_error(callee);
    case Value::Kind::kFunction:
      return invoke(*callee.as_function(), call, "function");
    case Value::Kind::kMethod: {
      call.self = callee.as_method().self;
      Result<Value> result = invoke(*callee.as_method().method, call, "method");
      if (!result.ok() || !call.self.is_markup()) return result;
      return marked(*result);
    }
    case Value::Kind::kObject:
      return callee.as_object()->call(call);
    default:
      return invalid("'" + std::string(callee.type_name()) + "' object is not callable");
  }
}

Result<Value> Interpreter::evaluate(const CallExpr& expr) {
  O3_ASSIGN(const Value callee, evaluate(*expr.callee));
  O3_ASSIGN(Call call, prepare(Value(), expr.arguments));
  return call_value(callee, std::move(call));
}

Result<Value> Interpreter::apply(const FilterCall& filter, Value subject) {
  if (filter.filter == nullptr) {
    return unsupported("the filter '" + filter.name + "' is not supported");
  }
  O3_ASSIGN(Call call, prepare(std::move(subject), filter.arguments));
  return invoke(*filter.filter, call, "filter");
}

Result<Value> Interpreter::evaluate(const FilterExpr& expr) {
  O3_ASSIGN(Value subject, evaluate(*expr.subject));
  return apply(expr.call, std::move(subject));
}

Result<Value> Interpreter::evaluate(const TestExpr& expr) {
  O3_ASSIGN(Value subject, evaluate(*expr.subject));
  if (expr.test == nullptr) return unsupported("the test '" + expr.name + "' is not supported");
  O3_ASSIGN(Call call, prepare(std::move(subject), expr.arguments));
  return invoke(*expr.test, call, "test");
}

Result<Value> Interpreter::evaluate(const UnaryExpr& expr) {
  O3_ASSIGN(const Value operand, evaluate(*expr.operand));
  switch (expr.op) {
    case UnaryOp::kNot:
      return Value(!operand.truth());
    case UnaryOp::kMinus:
      return negate(operand);
    case UnaryOp::kPlus:
      return plus(operand);
  }
  return Value();
}

Result<Value> Interpreter::evaluate(const ChainExpr& expr) {
  O3_ASSIGN(Value left, evaluate(*expr.first));
  for (const auto& [op, operand] : expr.rest) {
    O3_ASSIGN(const Value right, evaluate(*operand));
    O3_ASSIGN(left, binary(*state_, op, left, right));
  }
  return left;
}

Result<Value> Interpreter::evaluate(const ConcatExpr& expr) {
  TaintedString out;
  for (const ExprPtr& part : expr.parts) {
    O3_ASSIGN(const Value value, evaluate(*part));
    O3_ASSIGN(const StringPtr text, to_string(*state_, value));
    O3_TRY(state_->charge(text->copy_cost()));
    out.append(*text);
  }
  return Value(std::move(out));
}

Result<bool> Interpreter::compare(CompareOp op, const Value& a, const Value& b) {
  switch (op) {
    case CompareOp::kEq:
      return equal(*state_, a, b);
    case CompareOp::kNe: {
      O3_ASSIGN(const bool same, equal(*state_, a, b));
      return !same;
    }
    case CompareOp::kIn:
      return contains(*state_, b, a);
    case CompareOp::kNotIn: {
      O3_ASSIGN(const bool found, contains(*state_, b, a));
      return !found;
    }
    default:
      break;
  }
  O3_ASSIGN(const std::partial_ordering ordering, order(*state_, a, b));
  const bool below = ordering == std::partial_ordering::less;
  const bool above = ordering == std::partial_ordering::greater;
  const bool same = ordering == std::partial_ordering::equivalent;
  switch (op) {
    case CompareOp::kLt:
      return below;
    case CompareOp::kLe:
      return below || same;
    case CompareOp::kGt:
      return above;
    default:
      return above || same;
  }
}

Result<Value> Interpreter::evaluate(const CompareExpr& expr) {
  O3_ASSIGN(Value left, evaluate(*expr.first));
  for (const auto& [op, operand] : expr.rest) {
    O3_ASSIGN(Value right, evaluate(*operand));
    O3_ASSIGN(const bool holds, compare(op, left, right));
    if (!holds) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Result<Value> Interpreter::evaluate(const LogicExpr& expr) {
  Value value;
  for (const ExprPtr& operand : expr.operands) {
    O3_ASSIGN(value, evaluate(*operand));
    if (value.truth() != expr.is_and) break;
  }
  return value;
}

Result<Value> Interpreter::evaluate(const ConditionalExpr& expr) {
  O3_ASSIGN(const Value condition, evaluate(*expr.condition));
  if (condition.truth()) return evaluate(*expr.value);
  if (expr.otherwise != nullptr) return evaluate(*expr.otherwise);
  return Value::undefined("the inline if-expression was false and has no else");
}

}  // namespace o3::text::jinja
