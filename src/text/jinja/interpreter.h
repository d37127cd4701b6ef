// SPDX-License-Identifier: Apache-2.0
// Runs a syntax tree. One interpreter per render, on one thread.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/call.h"
#include "text/jinja/objects.h"
#include "text/jinja/render_state.h"
#include "text/jinja/scope.h"

namespace o3::text::jinja {

class Interpreter {
 public:
  struct Limits {
    size_t output_bytes;
    int depth;
  };

  Interpreter(RenderState& state, Limits limits) : state_(&state), limits_(limits) {
    outputs_.emplace_back();
  }

  void define(std::string_view name, Value value) { scopes_.set(name, std::move(value)); }
  Result<TaintedString> run(const Block& block);

 private:
  enum class Flow : uint8_t { kNext, kBreak, kContinue };

  // A macro or the body of a call block, with the scope that it sees.
  class Macro final : public Object {
   public:
    Macro(Interpreter& interpreter, std::shared_ptr<const MacroDefinition> definition,
          ScopeStack::Handle scope)
        : interpreter_(&interpreter), definition_(std::move(definition)), scope_(scope) {}
    std::string_view type_name() const noexcept override { return "macro"; }
    Result<Value> attribute(std::string_view name) override;
    uint64_t attribute_cost(std::string_view name) const noexcept override {
      return name == "arguments" ? 4 * definition_->parameters.size() : 0;
    }
    Result<Value> call(Call& call) override;
    bool is_callable() const noexcept override { return true; }

   private:
    Result<void> bind(Call& call);
    Result<void> bind_extras(Call& call);

    Interpreter* interpreter_;
    std::shared_ptr<const MacroDefinition> definition_;
    ScopeStack::Handle scope_;
  };

  // Statements (interpreter.cc)
  Result<Flow> execute(const Block& block);
  Result<Flow> execute(const TextStmt& stmt);
  Result<Flow> execute(const PrintStmt& stmt);
  Result<Flow> execute(const ForStmt& stmt);
  Result<Flow> execute(const IfStmt& stmt);
  Result<Flow> execute(const SetStmt& stmt);
  Result<Flow> execute(const SetBlockStmt& stmt);
  Result<Flow> execute(const MacroStmt& stmt);
  Result<Flow> execute(const CallStmt& stmt);
  Result<Flow> execute(const FilterStmt& stmt);
  Result<Flow> execute(const WithStmt& stmt);
  Result<Flow> execute(const ScopeStmt& stmt);
  Result<Flow> execute(const BreakStmt& /*stmt*/) { return Flow::kBreak; }
  Result<Flow> execute(const ContinueStmt& /*stmt*/) { return Flow::kContinue; }
  Result<Flow> loop(const ForStmt& stmt, LoopContext& loop);
  // One level of a loop, in the scope that is current now; depth0 is its loop.depth0.
  Result<Flow> run_loop(const ForStmt& stmt, SequencePtr items, int depth0);
  // loop(items) of a recursive loop that was started in `scope`: what the body prints for them.
  Result<Value> recurse(const ForStmt& stmt, ScopeStack::Handle scope, const Value& items,
                        int depth0);
  Result<bool> accepts(const ForStmt& stmt, size_t parent, const Value& item);

  Result<void> assign(const Target& target, const Value& value);
  Result<void> assign_each(const std::vector<Target>& targets, const Value& value);
  Result<void> print(const TaintedString& text);
  // What the block prints, in a scope of its own.
  Result<Value> capture(const Block& block);
  Result<Value> apply(const std::vector<FilterCall>& filters, Value value);

  // Expressions (evaluate.cc)
  Result<Value> evaluate(const Expr& expr);
  Result<Value> evaluate_optional(const ExprPtr& expr);  // null: kNone
  Result<Value> evaluate(const LiteralExpr& expr) { return expr.value; }
  Result<Value> evaluate(const NameExpr& expr);
  Result<Value> evaluate(const SequenceExpr& expr);
  Result<Value> evaluate(const DictExpr& expr);
  Result<Value> evaluate(const AttributeExpr& expr);
  Result<Value> evaluate(const ItemExpr& expr);
  Result<Value> evaluate(const SliceExpr& expr);
  Result<Value> evaluate(const CallExpr& expr);
  Result<Value> evaluate(const FilterExpr& expr);
  Result<Value> evaluate(const TestExpr& expr);
  Result<Value> evaluate(const UnaryExpr& expr);
  Result<Value> evaluate(const ChainExpr& expr);
  Result<Value> evaluate(const ConcatExpr& expr);
  Result<Value> evaluate(const CompareExpr& expr);
  Result<Value> evaluate(const LogicExpr& expr);
  Result<Value> evaluate(const ConditionalExpr& expr);
  Result<bool> compare(CompareOp op, const Value& a, const Value& b);
  Result<Call> prepare(Value self, const Arguments& arguments);
  Result<void> add_splatted(const Arguments& arguments, Call& call);
  Result<Value> call_value(const Value& callee, Call call);
  Result<Value> apply(const FilterCall& filter, Value subject);

  Result<void> enter();
  void leave() { --depth_; }

  RenderState* state_;
  Limits limits_;
  ScopeStack scopes_;
  std::vector<TaintedString> outputs_;  // the innermost capture is last
  int depth_ = 0;
};

}  // namespace o3::text::jinja
