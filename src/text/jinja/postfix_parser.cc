// SPDX-License-Identifier: Apache-2.0
// What follows an operand: attributes, subscripts, calls, filters and tests.
#include "text/jinja/call.h"
#include "text/jinja/make_expr.h"
#include "text/jinja/parser.h"

namespace o3::text::jinja {
namespace {

bool starts_test_argument(const LexToken& token) {
  switch (token.kind) {
    case TokenKind::kName:
      return token.text != "else" && token.text != "or" && token.text != "and";
    case TokenKind::kString:
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return true;
    case TokenKind::kOperator:
      return token.text == "(" || token.text == "[" || token.text == "{";
    default:
      return false;
  }
}

}  // namespace

Result<ExprPtr> ExpressionParser::postfix(ExprPtr base) {
  while (true) {
    if (tokens_->at_op(".")) {
      O3_ASSIGN(base, dot(std::move(base)));
    } else if (tokens_->at_op("[")) {
      O3_ASSIGN(base, subscript(std::move(base)));
    } else if (tokens_->at_op("(")) {
      O3_ASSIGN(base, call(std::move(base)));
    } else {
      return base;
    }
  }
}

Result<ExprPtr> ExpressionParser::filters(ExprPtr base) {
  while (true) {
    const int line = tokens_->line();
    if (tokens_->skip_op("|")) {
      O3_ASSIGN(FilterCall filter, filter_call());
      O3_ASSIGN(base, make_expr(line, FilterExpr{std::move(base), std::move(filter)}));
    } else if (tokens_->at_name("is")) {
      O3_ASSIGN(base, test(std::move(base)));
    } else if (tokens_->at_op("(")) {
      O3_ASSIGN(base, call(std::move(base)));
    } else {
      return base;
    }
  }
}

Result<ExprPtr> ExpressionParser::dot(ExprPtr base) {
  const int line = tokens_->next().line;
  const LexToken& token = tokens_->next();
  if (token.kind == TokenKind::kName) {
    return make_expr(line, AttributeExpr{std::move(base), token.text});
  }
  if (token.kind != TokenKind::kInteger) {
    return syntax_error(token.line, "expected a name or a number behind '.'");
  }
  O3_ASSIGN(ExprPtr key, make_expr(token.line, LiteralExpr{Value(token.integer)}));
  return make_expr(line, ItemExpr{std::move(base), std::move(key)});
}

Result<ExprPtr> ExpressionParser::subscript(ExprPtr base) {
  const int line = tokens_->next().line;
  O3_ASSIGN(ExprPtr node, subscribed(line, std::move(base)));
  if (tokens_->at_op(",")) return several_subscripts(line, std::move(node));
  O3_TRY(tokens_->expect_op("]"));
  return node;
}

// base[a, b]: one key, a tuple. node is base[a].
Result<ExprPtr> ExpressionParser::several_subscripts(int line, ExprPtr node) {
  auto* first = std::get_if<ItemExpr>(&node->node);
  SequenceExpr key{.flavour = Sequence::Flavour::kTuple, .items = {}};
  while (first != nullptr && !tokens_->at_op("]")) {
    O3_TRY(tokens_->expect_op(","));
    if (tokens_->at_op(":")) break;
    O3_ASSIGN(ExprPtr item, expression());
    key.items.push_back(std::move(item));
  }
  if (first == nullptr || tokens_->at_op(":")) {
    return unsupported_at(line, "slices among several values in a subscript are not supported");
  }
  tokens_->next();
  key.items.insert(key.items.begin(), std::move(first->key));
  O3_ASSIGN(ExprPtr tuple, make_expr(line, std::move(key)));
  return make_expr(line, ItemExpr{std::move(first->object), std::move(tuple)});
}

Result<ExprPtr> ExpressionParser::subscribed(int line, ExprPtr base) {
  const auto bound_ends = [&] {
    return tokens_->at_op(":") || tokens_->at_op("]") || tokens_->at_op(",");
  };
  ExprPtr begin;
  if (!tokens_->at_op(":")) {
    O3_ASSIGN(begin, expression());
    if (!tokens_->at_op(":")) {
      return make_expr(line, ItemExpr{std::move(base), std::move(begin)});
    }
  }
  tokens_->next();
  ExprPtr end;
  ExprPtr step;
  if (!bound_ends()) {
    O3_ASSIGN(end, expression());
  }
  if (tokens_->skip_op(":") && !bound_ends()) {
    O3_ASSIGN(step, expression());
  }
  return make_expr(line,
                   SliceExpr{std::move(base), std::move(begin), std::move(end), std::move(step)});
}

Result<ExprPtr> ExpressionParser::call(ExprPtr base) {
  const int line = tokens_->line();
  O3_ASSIGN(Arguments given, arguments());
  return make_expr(line, CallExpr{std::move(base), std::move(given)});
}

Result<Arguments> ExpressionParser::arguments() {
  O3_TRY(tokens_->expect_op("("));
  Arguments out;
  NameSet names;
  while (!tokens_->at_op(")")) {
    O3_TRY(argument(out, names));
    if (!tokens_->skip_op(",")) break;
  }
  O3_TRY(tokens_->expect_op(")"));
  return out;
}

Result<void> ExpressionParser::argument(Arguments& out, NameSet& names) {
  const int line = tokens_->line();
  const Error misplaced = syntax_error(line, "an argument stands where it may not");
  if (tokens_->skip_op("*")) {
    if (out.more_positional != nullptr || out.more_named != nullptr) return misplaced;
    O3_ASSIGN(out.more_positional, expression());
    return {};
  }
  if (out.more_named != nullptr) return misplaced;
  if (tokens_->skip_op("**")) {
    O3_ASSIGN(out.more_named, expression());
    return {};
  }
  if (tokens_->at(TokenKind::kName) && TokenStream::is_op(tokens_->peek(1), "=")) {
    std::string name = tokens_->next().text;
    tokens_->next();
    if (!names.insert(name).second) {
      return syntax_error(line, "argument '" + name + "' is given twice");
    }
    O3_ASSIGN(ExprPtr value, expression());
    out.named.emplace_back(std::move(name), std::move(value));
    return {};
  }
  if (out.more_positional != nullptr || !out.named.empty()) return misplaced;
  O3_ASSIGN(ExprPtr value, expression());
  out.positional.push_back(std::move(value));
  return {};
}

Result<std::string> ExpressionParser::dotted_name() {
  O3_ASSIGN(std::string name, tokens_->expect_any_name());
  while (tokens_->skip_op(".")) {
    O3_ASSIGN(const std::string part, tokens_->expect_any_name());
    name += "." + part;
  }
  return name;
}

void ExpressionParser::note_unsupported(int line, std::string_view kind, std::string_view name) {
  if (lenient_) return;
  unsupported_.push_back(unsupported_at(
      line, "the " + std::string(kind) + " '" + std::string(name) + "' is not supported"));
}

Result<void> ExpressionParser::check_names() const {
  if (unsupported_.empty()) return {};
  return unsupported_.front();
}

Result<FilterCall> ExpressionParser::filter_call() {
  const int line = tokens_->line();
  O3_ASSIGN(const std::string name, dotted_name());
  const Builtin* filter = find_filter(name);
  if (filter == nullptr) note_unsupported(line, "filter", name);
  FilterCall call{.filter = filter, .name = name, .arguments = {}, .line = line};
  if (tokens_->at_op("(")) {
    O3_ASSIGN(call.arguments, arguments());
  }
  return call;
}

Result<ExprPtr> ExpressionParser::test(ExprPtr subject) {
  const int line = tokens_->next().line;
  const bool negated = tokens_->skip_name("not");
  O3_ASSIGN(const std::string name, dotted_name());
  const Builtin* builtin = find_test(name);
  if (builtin == nullptr) note_unsupported(line, "test", name);
  TestExpr node{.subject = std::move(subject), .test = builtin, .name = name, .arguments = {}};
  O3_TRY(test_arguments(node.arguments));
  O3_ASSIGN(ExprPtr result, make_expr(line, std::move(node)));
  if (!negated) return result;
  return make_expr(line, UnaryExpr{UnaryOp::kNot, std::move(result)});
}

Result<void> ExpressionParser::test_arguments(Arguments& out) {
  if (tokens_->at_op("(")) {
    O3_ASSIGN(out, arguments());
    return {};
  }
  if (!starts_test_argument(tokens_->peek())) return {};
  if (tokens_->at_name("is")) {
    return syntax_error(tokens_->line(), "tests cannot be chained with 'is'");
  }
  O3_TRY(enter());
  Result<ExprPtr> base = primary();
  leave();
  if (!base.ok()) return std::move(base).error();
  O3_ASSIGN(ExprPtr value, postfix(*std::move(base)));
  out.positional.push_back(std::move(value));
  return {};
}

}  // namespace o3::text::jinja
