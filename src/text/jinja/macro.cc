// SPDX-License-Identifier: Apache-2.0
// Macros, and the blocks that `call` gives them.
#include <algorithm>
#include <string>

#include "text/jinja/interpreter.h"

namespace o3::text::jinja {
namespace {

Error scope_gone(const std::string& name) {
  return unsupported("macro '" + name + "' is called outside the block that defines it");
}

}  // namespace

Result<Value> Interpreter::Macro::attribute(std::string_view name) {
  if (name == "name") return Value::trusted(definition_->name);
  if (name == "catch_kwargs") return Value(definition_->uses_kwargs);
  if (name == "catch_varargs") return Value(definition_->uses_varargs);
  if (name == "caller") return Value(definition_->uses_caller);
  if (name == "arguments") {
    std::vector<Value> names;
    for (const Parameter& parameter : definition_->parameters) {
      names.push_back(Value::trusted(parameter.name));
    }
    return make_sequence(Sequence::Flavour::kTuple, std::move(names));
  }
  return Value::undefined("");
}

// Arguments that no parameter takes: `caller`, then kwargs and varargs, each only when the body
// mentions it.
Result<void> Interpreter::Macro::bind_extras(Call& call) {
  const MacroDefinition& macro = *definition_;
  const std::string& name = macro.name;
  Value caller = Value::undefined("No caller defined");
  std::vector<std::pair<Value, Value>> kwargs;
  for (auto& [key, value] : call.named) {
    if (key == "caller" && macro.uses_caller) {
      caller = std::move(value);
    } else if (macro.uses_kwargs) {
      kwargs.emplace_back(call.name_value(key), std::move(value));
    } else {
      return invalid("macro '" + name + "' takes no keyword argument '" + std::string(key) + "'");
    }
  }
  const size_t taken = std::min(macro.parameters.size(), call.positional.size());
  if (call.positional.size() > taken && !macro.uses_varargs) {
    return invalid("macro '" + name + "' takes not more than " + std::to_string(taken) +
                   " argument(s)");
  }
  ScopeStack& scopes = interpreter_->scopes_;
  if (macro.uses_caller) scopes.set("caller", std::move(caller));
  if (macro.uses_kwargs) {
    O3_ASSIGN(Value dict, make_dict(std::move(kwargs)));
    scopes.set("kwargs", std::move(dict));
  }
  if (macro.uses_varargs) {
    const auto rest = call.positional.begin() + static_cast<std::ptrdiff_t>(taken);
    O3_ASSIGN(Value tuple, make_sequence(Sequence::Flavour::kTuple, {rest, call.positional.end()}));
    scopes.set("varargs", std::move(tuple));
  }
  return {};
}

Result<void> Interpreter::Macro::bind(Call& call) {
  const std::vector<Parameter>& parameters = definition_->parameters;
  O3_TRY(call.charge(parameters.size() * (call.named.size() + 8) / 8));
  std::vector<std::pair<std::string_view, Value>> bound;
  std::vector<const Parameter*> missing;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    const auto named =
        std::find_if(call.named.begin(), call.named.end(),
                     [&](const auto& argument) { return argument.first == parameter.name; });
    if (i < call.positional.size()) {
      bound.emplace_back(parameter.name, call.positional[i]);
    } else if (named != call.named.end()) {
      bound.emplace_back(parameter.name, std::move(named->second));
      call.named.erase(named);
    } else {
      missing.push_back(&parameter);
    }
  }
  O3_TRY(bind_extras(call));
  for (auto& [name, value] : bound) {
    O3_TRY(call.charge(ScopeStack::cost(name)));
    interpreter_->scopes_.set(name, std::move(value));
  }
  for (const Parameter* parameter : missing) {
    Value value = Value::undefined("parameter '" + parameter->name + "' was not provided");
    if (parameter->otherwise != nullptr) {
      O3_ASSIGN(value, interpreter_->evaluate(*parameter->otherwise));
    }
    interpreter_->scopes_.set(parameter->name, std::move(value));
  }
  return {};
}

Result<Value> Interpreter::Macro::call(Call& call) {
  if (!interpreter_->scopes_.alive(scope_)) return scope_gone(definition_->name);
  O3_TRY(call.charge(4));
  O3_TRY(interpreter_->enter());
  const ScopeStack::Guard scope(interpreter_->scopes_, scope_.index);
  O3_TRY(bind(call));
  O3_ASSIGN(Value text, interpreter_->capture(definition_->body));
  interpreter_->leave();
  return text;
}

}  // namespace o3::text::jinja
