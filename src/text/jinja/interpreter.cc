// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/interpreter.h"

#include <string>

#include "text/jinja/lexer.h"
#include "text/jinja/operators.h"
#include "text/jinja/print.h"

namespace o3::text::jinja {
Result<void> Interpreter::enter() {
  if (depth_ >= limits_.depth) {
    return Error{Code::kTooLong,
                 "blocks, expressions and macro calls are nested deeper than " +
                     std::to_string(limits_.depth),
                 {}};
  }
  ++depth_;
  return {};
}

Result<TaintedString> Interpreter::run(const Block& block) {
  O3_ASSIGN(const Flow flow, execute(block));
  O3_CHECK(flow == Flow::kNext, "the parser lets break and continue into loops only");
  return std::move(outputs_.back());
}

Result<Interpreter::Flow> Interpreter::execute(const Block& block) {
  O3_TRY(enter());
  for (const Stmt& stmt : block) {
    O3_TRY(state_->charge(1));
    Result<Flow> flow = std::visit([this](const auto& node) { return execute(node); }, stmt.node);
    if (!flow.ok()) return located(std::move(flow).error(), stmt.line);
    if (*flow != Flow::kNext) {
      leave();
      return *flow;
    }
  }
  leave();
  return Flow::kNext;
}

Result<void> Interpreter::print(const TaintedString& text) {
  O3_TRY(state_->charge(text.copy_cost()));
  if (text.size() > limits_.output_bytes - outputs_.back().size()) {
    return Error{Code::kTooLong,
                 "the rendered conversation is longer than " +
                     std::to_string(limits_.output_bytes) + " bytes",
                 {}};
  }
  outputs_.back().append(text);
  return {};
}

Result<Interpreter::Flow> Interpreter::execute(const TextStmt& stmt) {
  O3_TRY(print(*stmt.text));
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::execute(const PrintStmt& stmt) {
  O3_ASSIGN(const Value value, evaluate(*stmt.value));
  O3_ASSIGN(const StringPtr text, to_string(*state_, value));
  O3_TRY(print(*text));
  return Flow::kNext;
}

Result<bool> Interpreter::accepts(const ForStmt& stmt, size_t parent, const Value& item) {
  const ScopeStack::Guard scope(scopes_, parent);
  O3_TRY(assign(stmt.target, item));
  O3_ASSIGN(const Value taken, evaluate(*stmt.condition));
  return taken.truth();
}

Result<Interpreter::Flow> Interpreter::execute(const ForStmt& stmt) {
  O3_ASSIGN(const Value source, evaluate(*stmt.source));
  O3_ASSIGN(SequencePtr items, iterate(*state_, source));
  return run_loop(stmt, std::move(items), 0);
}

Result<Interpreter::Flow> Interpreter::run_loop(const ForStmt& stmt, SequencePtr items,
                                                int depth0) {
  LoopContext::Accept accept;
  if (stmt.condition != nullptr) {
    accept = [this, &stmt, parent = scopes_.current()](const Value& item) {
      return accepts(stmt, parent, item);
    };
  }
  LoopContext::Recurse again;
  if (stmt.recursive) {
    again = [this, &stmt, scope = scopes_.handle(), depth0](const Value& deeper) {
      return recurse(stmt, scope, deeper, depth0 + 1);
    };
  }
  O3_ASSIGN(LoopContext * context,
            state_->make_object<LoopContext>(std::move(items), accept, again, depth0));
  Result<Flow> flow = loop(stmt, *context);
  context->end();  // the template may have kept `loop`
  return flow;
}

Result<Value> Interpreter::recurse(const ForStmt& stmt, ScopeStack::Handle scope,
                                   const Value& items, int depth0) {
  if (!scopes_.alive(scope)) return unsupported("a recursive loop is called outside itself");
  O3_ASSIGN(SequencePtr walked, iterate(*state_, items));
  O3_TRY(enter());
  const ScopeStack::Guard guard(scopes_, scope.index);
  outputs_.emplace_back();
  O3_ASSIGN(const Flow flow, run_loop(stmt, std::move(walked), depth0));
  O3_CHECK(flow == Flow::kNext, "a loop takes its own break and continue");
  TaintedString text = std::move(outputs_.back());
  outputs_.pop_back();
  leave();
  return Value(std::move(text));
}

Result<Interpreter::Flow> Interpreter::loop(const ForStmt& stmt, LoopContext& loop) {
  bool completed = false;  // as in jinja2, a body left by break or continue does not count
  while (true) {
    O3_TRY(state_->charge(1));
    O3_ASSIGN(const bool more, loop.advance());
    if (!more) break;
    const ScopeStack::Guard scope(scopes_, scopes_.current());
    scopes_.set("loop", Value(static_cast<Object*>(&loop)));
    O3_TRY(assign(stmt.target, loop.current()));
    O3_ASSIGN(const Flow flow, execute(stmt.body));
    completed = completed || flow == Flow::kNext;
    if (flow == Flow::kBreak) break;
  }
  if (completed) return Flow::kNext;
  const ScopeStack::Guard scope(scopes_, scopes_.current());
  return execute(stmt.otherwise);
}

Result<Interpreter::Flow> Interpreter::execute(const IfStmt& stmt) {
  for (const auto& [condition, block] : stmt.branches) {
    O3_ASSIGN(const Value taken, evaluate(*condition));
    if (taken.truth()) return execute(block);
  }
  return execute(stmt.otherwise);
}

Result<void> Interpreter::assign_each(const std::vector<Target>& targets, const Value& value) {
  O3_ASSIGN(const SequencePtr items, iterate(*state_, value));
  if (items->items.size() != targets.size()) {
    return invalid("cannot unpack " + std::to_string(items->items.size()) + " values into " +
                   std::to_string(targets.size()) + " names");
  }
  for (size_t i = 0; i < targets.size(); ++i) O3_TRY(assign(targets[i], items->items[i]));
  return {};
}

Result<void> Interpreter::assign(const Target& target, const Value& value) {
  if (const auto* name = std::get_if<TargetName>(&target.node)) {
    O3_TRY(state_->charge(ScopeStack::cost(name->name)));
    scopes_.set(name->name, value);
    return {};
  }
  if (const auto* several = std::get_if<std::vector<Target>>(&target.node)) {
    return assign_each(*several, value);
  }
  const auto& member = std::get<TargetMember>(target.node);
  const ScopeStack::Found found = scopes_.find(member.name);
  O3_TRY(state_->charge(ScopeStack::cost(member.name, found.scopes)));
  const Value* holder = found.value;
  auto* space = holder == nullptr || holder->kind() != Value::Kind::kObject
                    ? nullptr
                    : dynamic_cast<Namespace*>(holder->as_object());
  if (space == nullptr) return invalid("cannot assign attribute on non-namespace object");
  O3_TRY(check_member_name(member.member));
  O3_TRY(state_->charge(1 + space->attribute_cost(member.member)));
  space->set(member.member, value);
  return {};
}

Result<Interpreter::Flow> Interpreter::execute(const SetStmt& stmt) {
  O3_ASSIGN(const Value value, evaluate(*stmt.value));
  O3_TRY(assign(stmt.target, value));
  return Flow::kNext;
}

Result<Value> Interpreter::capture(const Block& block) {
  const ScopeStack::Guard scope(scopes_, scopes_.current());
  outputs_.emplace_back();
  O3_ASSIGN(const Flow flow, execute(block));
  O3_CHECK(flow == Flow::kNext, "the parser lets break and continue into loops only");
  TaintedString text = std::move(outputs_.back());
  outputs_.pop_back();
  return Value(std::move(text));
}

Result<Value> Interpreter::apply(const std::vector<FilterCall>& filters, Value value) {
  for (const FilterCall& filter : filters) {
    O3_ASSIGN(value, apply(filter, std::move(value)));
  }
  return value;
}

Result<Interpreter::Flow> Interpreter::execute(const SetBlockStmt& stmt) {
  O3_ASSIGN(Value text, capture(stmt.body));
  O3_ASSIGN(const Value value, apply(stmt.filters, std::move(text)));
  O3_TRY(assign(stmt.target, value));
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::execute(const FilterStmt& stmt) {
  O3_ASSIGN(Value text, capture(stmt.body));
  O3_ASSIGN(const Value value, apply(stmt.filters, std::move(text)));
  if (!value.is_string()) return invalid("a filter block must give a string");
  O3_TRY(print(value.as_string()));
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::execute(const WithStmt& stmt) {
  std::vector<Value> values;  // all are evaluated outside
  for (const auto& [target, expr] : stmt.bindings) {
    O3_ASSIGN(Value value, evaluate(*expr));
    values.push_back(std::move(value));
  }
  const ScopeStack::Guard scope(scopes_, scopes_.current());
  for (size_t i = 0; i < values.size(); ++i) {
    O3_TRY(assign(stmt.bindings[i].first, values[i]));
  }
  return execute(stmt.body);
}

Result<Interpreter::Flow> Interpreter::execute(const ScopeStmt& stmt) {
  const ScopeStack::Guard scope(scopes_, scopes_.current());
  return execute(stmt.body);
}

Result<Interpreter::Flow> Interpreter::execute(const MacroStmt& stmt) {
  O3_ASSIGN(Macro * macro, state_->make_object<Macro>(*this, stmt.macro, scopes_.handle()));
  scopes_.set(stmt.macro->name, Value(static_cast<Object*>(macro)));
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::execute(const CallStmt& stmt) {
  O3_ASSIGN(Macro * caller, state_->make_object<Macro>(*this, stmt.caller, scopes_.handle()));
  const auto& expr = std::get<CallExpr>(stmt.call->node);
  O3_ASSIGN(const Value callee, evaluate(*expr.callee));
  O3_ASSIGN(Call call, prepare(Value(), expr.arguments));
  call.named.emplace_back("caller", Value(static_cast<Object*>(caller)));
  O3_ASSIGN(const Value value, call_value(callee, std::move(call)));
  O3_ASSIGN(const StringPtr text, to_string(*state_, value));
  O3_TRY(print(*text));
  return Flow::kNext;
}

}  // namespace o3::text::jinja
