// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "text/jinja/make_expr.h"
#include "text/jinja/parser.h"
#include "text/jinja/wide_int.h"

namespace o3::text::jinja {
namespace {

std::optional<CompareOp> compare_operator(const LexToken& token) {
  if (token.kind != TokenKind::kOperator) return std::nullopt;
  if (token.text == "==") return CompareOp::kEq;
  if (token.text == "!=") return CompareOp::kNe;
  if (token.text == "<") return CompareOp::kLt;
  if (token.text == "<=") return CompareOp::kLe;
  if (token.text == ">") return CompareOp::kGt;
  if (token.text == ">=") return CompareOp::kGe;
  return std::nullopt;
}

}  // namespace

Result<void> ExpressionParser::enter() {
  if (depth_ >= kMaxSyntaxDepth) return too_deep(tokens_->line());
  ++depth_;
  return {};
}

Result<ExprPtr> ExpressionParser::expression() {
  O3_TRY(enter());
  Result<ExprPtr> result = conditional();
  leave();
  return result;
}

Result<ExprPtr> ExpressionParser::expression_without_inline_if() {
  O3_TRY(enter());
  Result<ExprPtr> result = logic_or();
  leave();
  return result;
}

Result<ExprPtr> ExpressionParser::conditional() {
  int line = tokens_->line();
  const size_t unsupported_before = unsupported_.size();
  O3_ASSIGN(ExprPtr value, logic_or());
  while (tokens_->skip_name("if")) {
    O3_ASSIGN(ExprPtr condition, logic_or());
    ExprPtr otherwise;
    if (tokens_->skip_name("else")) {
      O3_ASSIGN(otherwise, expression());
    }
    O3_ASSIGN(value, make_expr(line, ConditionalExpr{std::move(value), std::move(condition),
                                                     std::move(otherwise)}));
    line = tokens_->line();
    unsupported_.resize(unsupported_before);  // none of the three parts need run
  }
  return value;
}

Result<ExprPtr> ExpressionParser::logic_or() {
  const int line = tokens_->line();
  O3_ASSIGN(ExprPtr first, logic_and());
  if (!tokens_->at_name("or")) return first;
  LogicExpr node{.is_and = false, .operands = {}};
  node.operands.push_back(std::move(first));
  while (tokens_->skip_name("or")) {
    O3_ASSIGN(ExprPtr operand, logic_and());
    node.operands.push_back(std::move(operand));
  }
  return make_expr(line, std::move(node));
}

Result<ExprPtr> ExpressionParser::logic_and() {
  const int line = tokens_->line();
  O3_ASSIGN(ExprPtr first, logic_not());
  if (!tokens_->at_name("and")) return first;
  LogicExpr node{.is_and = true, .operands = {}};
  node.operands.push_back(std::move(first));
  while (tokens_->skip_name("and")) {
    O3_ASSIGN(ExprPtr operand, logic_not());
    node.operands.push_back(std::move(operand));
  }
  return make_expr(line, std::move(node));
}

Result<ExprPtr> ExpressionParser::logic_not() {
  const int line = tokens_->line();
  if (!tokens_->skip_name("not")) return comparison();
  O3_TRY(enter());
  Result<ExprPtr> operand = logic_not();
  leave();
  if (!operand.ok()) return operand;
  return make_expr(line, UnaryExpr{UnaryOp::kNot, *std::move(operand)});
}

Result<ExprPtr> ExpressionParser::comparison() {
  const int line = tokens_->line();
  O3_ASSIGN(ExprPtr first, sum());
  CompareExpr node{.first = std::move(first), .rest = {}};
  while (true) {
    std::optional<CompareOp> op = compare_operator(tokens_->peek());
    if (!op && tokens_->at_name("in")) op = CompareOp::kIn;
    if (!op && tokens_->at_name("not") && TokenStream::is_name(tokens_->peek(1), "in")) {
      op = CompareOp::kNotIn;
      tokens_->next();
    }
    if (!op) break;
    tokens_->next();
    O3_ASSIGN(ExprPtr operand, sum());
    node.rest.emplace_back(*op, std::move(operand));
  }
  if (node.rest.empty()) return std::move(node.first);
  return make_expr(line, std::move(node));
}

Result<ExprPtr> ExpressionParser::chain(
    Result<ExprPtr> (ExpressionParser::*operand)(),
    std::vector<std::pair<std::string_view, BinaryOp>> operators) {
  const int line = tokens_->line();
  O3_ASSIGN(ExprPtr first, (this->*operand)());
  ChainExpr node{.first = std::move(first), .rest = {}};
  while (true) {
    const auto found = std::find_if(operators.begin(), operators.end(),
                                    [&](const auto& op) { return tokens_->at_op(op.first); });
    if (found == operators.end()) break;
    tokens_->next();
    O3_ASSIGN(ExprPtr next, (this->*operand)());
    node.rest.emplace_back(found->second, std::move(next));
  }
  if (node.rest.empty()) return std::move(node.first);
  return make_expr(line, std::move(node));
}

Result<ExprPtr> ExpressionParser::sum() {
  return chain(&ExpressionParser::concatenation, {{"+", BinaryOp::kAdd}, {"-", BinaryOp::kSub}});
}

Result<ExprPtr> ExpressionParser::concatenation() {
  const int line = tokens_->line();
  O3_ASSIGN(ExprPtr first, product());
  if (!tokens_->at_op("~")) return first;
  ConcatExpr node;
  node.parts.push_back(std::move(first));
  while (tokens_->skip_op("~")) {
    O3_ASSIGN(ExprPtr part, product());
    node.parts.push_back(std::move(part));
  }
  return make_expr(line, std::move(node));
}

Result<ExprPtr> ExpressionParser::product() {
  return chain(&ExpressionParser::power, {{"*", BinaryOp::kMul},
                                          {"/", BinaryOp::kDiv},
                                          {"//", BinaryOp::kFloorDiv},
                                          {"%", BinaryOp::kMod}});
}

Result<ExprPtr> ExpressionParser::power() {
  const int line = tokens_->line();
  O3_ASSIGN(ExprPtr first, unary(true));
  ChainExpr node{.first = std::move(first), .rest = {}};
  while (tokens_->skip_op("**")) {
    O3_ASSIGN(ExprPtr exponent, unary(true));
    node.rest.emplace_back(BinaryOp::kPow, std::move(exponent));
  }
  if (node.rest.empty()) return std::move(node.first);
  return make_expr(line, std::move(node));
}

Result<ExprPtr> ExpressionParser::unary(bool with_filters) {
  const int line = tokens_->line();
  ExprPtr node;
  if (tokens_->at_op("-") || tokens_->at_op("+")) {
    const UnaryOp op = tokens_->next().text == "-" ? UnaryOp::kMinus : UnaryOp::kPlus;
    O3_TRY(enter());
    Result<ExprPtr> operand = unary(false);
    leave();
    if (!operand.ok()) return operand;
    O3_ASSIGN(node, make_expr(line, UnaryExpr{op, *std::move(operand)}));
  } else {
    O3_ASSIGN(node, primary());
  }
  O3_ASSIGN(node, postfix(std::move(node)));
  if (!with_filters) return node;
  return filters(std::move(node));
}

Result<ExprPtr> ExpressionParser::primary() {
  const LexToken& token = tokens_->peek();
  switch (token.kind) {
    case TokenKind::kName:
      return name();
    case TokenKind::kString:
      return string();
    case TokenKind::kInteger:
      return integer();
    case TokenKind::kFloat:
      tokens_->next();
      return make_expr(token.line, LiteralExpr{Value(token.number)});
    default:
      break;
  }
  if (tokens_->at_op("(")) return parenthesized();
  if (tokens_->at_op("[")) return list();
  if (tokens_->at_op("{")) return dict();
  return tokens_->unexpected();
}

Result<ExprPtr> ExpressionParser::integer() {
  const LexToken& token = tokens_->next();
  if (!token.beyond_64_bits) return make_expr(token.line, LiteralExpr{Value(token.integer)});
  Result<Value> value = integer_from_digits(token.text);
  if (!value.ok()) return located(std::move(value).error(), token.line);
  return make_expr(token.line, LiteralExpr{*std::move(value)});
}

Result<ExprPtr> ExpressionParser::name() {
  const LexToken& token = tokens_->next();
  if (token.text == "true" || token.text == "True") {
    return make_expr(token.line, LiteralExpr{Value(true)});
  }
  if (token.text == "false" || token.text == "False") {
    return make_expr(token.line, LiteralExpr{Value(false)});
  }
  if (token.text == "none" || token.text == "None")
    return make_expr(token.line, LiteralExpr{Value()});
  names_.insert(token.text);
  return make_expr(token.line, NameExpr{token.text});
}

Result<ExprPtr> ExpressionParser::string() {
  const int line = tokens_->line();
  std::string text;
  while (tokens_->at(TokenKind::kString)) text += tokens_->next().text;
  return make_expr(line, LiteralExpr{Value(TaintedString(std::move(text), Origin::kTemplate))});
}

Result<ExprPtr> ExpressionParser::parenthesized() {
  const int line = tokens_->next().line;
  if (tokens_->skip_op(")")) return make_expr(line, SequenceExpr{Sequence::Flavour::kTuple, {}});
  O3_ASSIGN(ExprPtr inner, tuple(true));
  O3_TRY(tokens_->expect_op(")"));
  return inner;
}

Result<ExprPtr> ExpressionParser::tuple(bool inline_if, std::string_view stop_name) {
  const int line = tokens_->line();
  SequenceExpr node{.flavour = Sequence::Flavour::kTuple, .items = {}};
  bool is_tuple = false;
  while (true) {
    const bool ends = tokens_->at(TokenKind::kVariableEnd) || tokens_->at(TokenKind::kBlockEnd) ||
                      tokens_->at_op(")") || (!stop_name.empty() && tokens_->at_name(stop_name));
    if (ends) break;
    O3_ASSIGN(ExprPtr item, inline_if ? expression() : expression_without_inline_if());
    node.items.push_back(std::move(item));
    if (!tokens_->skip_op(",")) break;
    is_tuple = true;
  }
  if (node.items.empty()) return tokens_->unexpected();
  if (!is_tuple) return std::move(node.items[0]);
  return make_expr(line, std::move(node));
}

Result<ExprPtr> ExpressionParser::list() {
  const int line = tokens_->next().line;
  SequenceExpr node{.flavour = Sequence::Flavour::kList, .items = {}};
  while (!tokens_->at_op("]")) {
    O3_ASSIGN(ExprPtr item, expression());
    node.items.push_back(std::move(item));
    if (!tokens_->skip_op(",")) break;
  }
  O3_TRY(tokens_->expect_op("]"));
  return make_expr(line, std::move(node));
}

Result<ExprPtr> ExpressionParser::dict() {
  const int line = tokens_->next().line;
  DictExpr node;
  while (!tokens_->at_op("}")) {
    O3_ASSIGN(ExprPtr key, expression());
    O3_TRY(tokens_->expect_op(":"));
    O3_ASSIGN(ExprPtr value, expression());
    node.items.emplace_back(std::move(key), std::move(value));
    if (!tokens_->skip_op(",")) break;
  }
  O3_TRY(tokens_->expect_op("}"));
  return make_expr(line, std::move(node));
}

}  // namespace o3::text::jinja
