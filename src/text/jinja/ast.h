// SPDX-License-Identifier: Apache-2.0
// Syntax tree of a template. Immutable after parsing; many renders may walk it at once.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja/operators.h"
#include "text/jinja/value.h"

namespace o3::text::jinja {

struct Expr;
struct Builtin;
using ExprPtr = std::unique_ptr<Expr>;

// ---- expressions ----

struct LiteralExpr {
  Value value;
};
struct NameExpr {
  std::string name;
};
struct SequenceExpr {
  Sequence::Flavour flavour;  // kList or kTuple
  std::vector<ExprPtr> items;
};
struct DictExpr {
  std::vector<std::pair<ExprPtr, ExprPtr>> items;
};
struct AttributeExpr {
  ExprPtr object;
  std::string name;
};
struct ItemExpr {
  ExprPtr object;
  ExprPtr key;
};
struct SliceExpr {  // absent bounds are null
  ExprPtr object;
  ExprPtr begin;
  ExprPtr end;
  ExprPtr step;
};
struct Arguments {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr more_positional;  // *expression, or null
  ExprPtr more_named;       // **expression, or null
};
struct CallExpr {
  ExprPtr callee;
  Arguments arguments;
};
struct FilterCall {
  const Builtin* filter;  // null: not supported, which matters when it runs
  std::string name;
  Arguments arguments;
  int line;
};
struct FilterExpr {
  ExprPtr subject;
  FilterCall call;
};
struct TestExpr {
  ExprPtr subject;
  const Builtin* test;  // null: as in FilterCall
  std::string name;
  Arguments arguments;
};
enum class UnaryOp : uint8_t { kNot, kMinus, kPlus };
struct UnaryExpr {
  UnaryOp op;
  ExprPtr operand;
};
// Operators of one precedence, applied from the left. A flat list, so that a long sum is not deep.
struct ChainExpr {
  ExprPtr first;
  std::vector<std::pair<BinaryOp, ExprPtr>> rest;
};
struct ConcatExpr {  // a ~ b ~ c
  std::vector<ExprPtr> parts;
};
enum class CompareOp : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kIn, kNotIn };
struct CompareExpr {  // a < b < c means a < b and b < c
  ExprPtr first;
  std::vector<std::pair<CompareOp, ExprPtr>> rest;
};
struct LogicExpr {
  bool is_and;
  std::vector<ExprPtr> operands;
};
struct ConditionalExpr {
  ExprPtr value;
  ExprPtr condition;
  ExprPtr otherwise;  // null: undefined
};

struct Expr {
  int line;
  int depth;  // 1 + deepest child
  std::variant<LiteralExpr, NameExpr, SequenceExpr, DictExpr, AttributeExpr, ItemExpr, SliceExpr,
               CallExpr, FilterExpr, TestExpr, UnaryExpr, ChainExpr, ConcatExpr, CompareExpr,
               LogicExpr, ConditionalExpr>
      node;
};

// ---- statements ----

struct Stmt;
using Block = std::vector<Stmt>;

struct TargetName {
  std::string name;
};
struct TargetMember {  // namespace.member
  std::string name;
  std::string member;
};
struct Target {  // what an assignment or a loop binds
  std::variant<TargetName, TargetMember, std::vector<Target>> node;
};

struct Parameter {
  std::string name;
  ExprPtr otherwise;  // null: required (undefined when missing)
};
struct MacroDefinition {
  std::string name;
  std::vector<Parameter> parameters;
  Block body;
  // Whether the body mentions these names; only then does a macro accept such arguments.
  bool uses_caller = false;
  bool uses_varargs = false;
  bool uses_kwargs = false;
};

struct TextStmt {
  StringPtr text;
};
struct PrintStmt {
  ExprPtr value;
};
struct ForStmt {
  Target target;
  ExprPtr source;
  ExprPtr condition;  // null: all items
  Block body;
  Block otherwise;
  bool recursive;
};
struct IfStmt {
  std::vector<std::pair<ExprPtr, Block>> branches;
  Block otherwise;
};
struct SetStmt {
  Target target;
  ExprPtr value;
};
struct SetBlockStmt {
  Target target;
  std::vector<FilterCall> filters;
  Block body;
};
struct MacroStmt {
  std::shared_ptr<const MacroDefinition> macro;
};
struct CallStmt {  // {% call(x) macro(y) %}: the body becomes macro's caller
  std::shared_ptr<const MacroDefinition> caller;
  ExprPtr call;
};
struct FilterStmt {
  std::vector<FilterCall> filters;
  Block body;
};
struct WithStmt {
  std::vector<std::pair<Target, ExprPtr>> bindings;
  Block body;
};
struct ScopeStmt {  // {% generation %}: a scope that prints its body
  Block body;
};
struct BreakStmt {};
struct ContinueStmt {};

struct Stmt {
  int line;
  std::variant<TextStmt, PrintStmt, ForStmt, IfStmt, SetStmt, SetBlockStmt, MacroStmt, CallStmt,
               FilterStmt, WithStmt, ScopeStmt, BreakStmt, ContinueStmt>
      node;
};

}  // namespace o3::text::jinja
