// SPDX-License-Identifier: Apache-2.0
// Construction of expression nodes with their depth, which bounds every walk over the tree.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/budget.h"
#include "text/jinja/lexer.h"

namespace o3::text::jinja {

inline int depth_of(const ExprPtr& child) {
  return child == nullptr ? 0 : child->depth;
}

inline int depth_of(const std::vector<ExprPtr>& children) {
  int depth = 0;
  for (const ExprPtr& child : children) depth = std::max(depth, depth_of(child));
  return depth;
}

template <class First>
inline int depth_of(const std::vector<std::pair<First, ExprPtr>>& children) {
  int depth = 0;
  for (const auto& [first, child] : children) depth = std::max(depth, depth_of(child));
  return depth;
}

inline int depth_of(const Arguments& arguments) {
  return std::max({depth_of(arguments.positional), depth_of(arguments.named),
                   depth_of(arguments.more_positional), depth_of(arguments.more_named)});
}

inline int depth_of(const LiteralExpr& /*node*/) {
  return 0;
}
inline int depth_of(const NameExpr& /*node*/) {
  return 0;
}
inline int depth_of(const SequenceExpr& node) {
  return depth_of(node.items);
}
inline int depth_of(const DictExpr& node) {
  int depth = 0;
  for (const auto& [key, value] : node.items) {
    depth = std::max({depth, depth_of(key), depth_of(value)});
  }
  return depth;
}
inline int depth_of(const AttributeExpr& node) {
  return depth_of(node.object);
}
inline int depth_of(const ItemExpr& node) {
  return std::max(depth_of(node.object), depth_of(node.key));
}
inline int depth_of(const SliceExpr& node) {
  return std::max(
      {depth_of(node.object), depth_of(node.begin), depth_of(node.end), depth_of(node.step)});
}
inline int depth_of(const CallExpr& node) {
  return std::max(depth_of(node.callee), depth_of(node.arguments));
}
inline int depth_of(const FilterExpr& node) {
  return std::max(depth_of(node.subject), depth_of(node.call.arguments));
}
inline int depth_of(const TestExpr& node) {
  return std::max(depth_of(node.subject), depth_of(node.arguments));
}
inline int depth_of(const UnaryExpr& node) {
  return depth_of(node.operand);
}
inline int depth_of(const ChainExpr& node) {
  return std::max(depth_of(node.first), depth_of(node.rest));
}
inline int depth_of(const ConcatExpr& node) {
  return depth_of(node.parts);
}
inline int depth_of(const CompareExpr& node) {
  return std::max(depth_of(node.first), depth_of(node.rest));
}
inline int depth_of(const LogicExpr& node) {
  return depth_of(node.operands);
}
inline int depth_of(const ConditionalExpr& node) {
  return std::max({depth_of(node.value), depth_of(node.condition), depth_of(node.otherwise)});
}

inline Error too_deep(int line) {
  return syntax_error(
      line, "the template is nested deeper than " + std::to_string(kMaxSyntaxDepth) + " levels");
}

template <class Node>
Result<ExprPtr> make_expr(int line, Node node) {
  const int depth = 1 + depth_of(node);
  if (depth > kMaxSyntaxDepth) return too_deep(line);
  return std::make_unique<Expr>(Expr{line, depth, std::move(node)});
}

}  // namespace o3::text::jinja
