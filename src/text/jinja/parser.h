// SPDX-License-Identifier: Apache-2.0
// Tokens to syntax tree, by jinja2's grammar. Two halves: expressions here, statements in
// statement_parser.h.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/lexer.h"

namespace o3::text::jinja {

// The whole template. kUnsupported names a tag, filter or test that is not there, with its line.
Result<Block> parse(std::string_view source);

// A cursor over tokens, with what both halves of the parser ask of it.
class TokenStream {
 public:
  explicit TokenStream(std::vector<LexToken> tokens) : tokens_(std::move(tokens)) {}

  const LexToken& peek(size_t ahead = 0) const {
    return tokens_[std::min(pos_ + ahead, tokens_.size() - 1)];
  }
  const LexToken& next() {
    const LexToken& token = peek();
    if (pos_ + 1 < tokens_.size()) ++pos_;
    return token;
  }
  int line() const { return peek().line; }

  bool at(TokenKind kind) const { return peek().kind == kind; }
  bool at_op(std::string_view op) const { return is_op(peek(), op); }
  bool at_name(std::string_view name) const { return is_name(peek(), name); }
  static bool is_op(const LexToken& token, std::string_view op) {
    return token.kind == TokenKind::kOperator && token.text == op;
  }
  static bool is_name(const LexToken& token, std::string_view name) {
    return token.kind == TokenKind::kName && token.text == name;
  }
  bool skip_op(std::string_view op) { return at_op(op) && (next(), true); }
  bool skip_name(std::string_view name) { return at_name(name) && (next(), true); }

  Result<void> expect_op(std::string_view op);
  Result<void> expect_name(std::string_view name);
  Result<void> expect(TokenKind kind);
  Result<std::string> expect_any_name();
  Error unexpected() const;  // at this token

 private:
  std::vector<LexToken> tokens_;  // ends with kEnd
  size_t pos_ = 0;
};

// Names that the body of a macro mentions, for `caller`, `varargs` and `kwargs`.
using NameSet = std::set<std::string, std::less<>>;

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(&tokens) {}

  Result<ExprPtr> expression();  // with an inline if
  Result<ExprPtr> expression_without_inline_if();
  // `a` or `a, b` (a tuple). stop_name: a name that also ends the tuple.
  Result<ExprPtr> tuple(bool inline_if, std::string_view stop_name = {});
  Result<FilterCall> filter_call();  // name(arguments), behind the |
  Result<Arguments> arguments();     // at the opening parenthesis

  // jinja2 looks filters and tests up when it compiles, but inside an `if` only when they run
  // (templates ask for them first). It does so for the innermost block only, hence the flag.
  bool set_lenient(bool lenient) { return std::exchange(lenient_, lenient); }
  // The first filter or test that is not supported where none is allowed to be.
  Result<void> check_names() const;

  NameSet take_names() { return std::exchange(names_, {}); }
  void add_names(NameSet names) { names_.merge(std::move(names)); }

  // Counts one level of nesting, of statements too. Refuses beyond kMaxSyntaxDepth.
  Result<void> enter();
  void leave() { --depth_; }

 private:
  Result<ExprPtr> conditional();
  Result<ExprPtr> logic_or();
  Result<ExprPtr> logic_and();
  Result<ExprPtr> logic_not();
  Result<ExprPtr> comparison();
  Result<ExprPtr> sum();
  Result<ExprPtr> concatenation();
  Result<ExprPtr> product();
  Result<ExprPtr> power();
  Result<ExprPtr> chain(Result<ExprPtr> (ExpressionParser::*operand)(),
                        std::vector<std::pair<std::string_view, BinaryOp>> operators);
  Result<ExprPtr> unary(bool with_filters);
  Result<ExprPtr> primary();
  Result<ExprPtr> integer();
  Result<ExprPtr> name();
  Result<ExprPtr> string();
  Result<ExprPtr> parenthesized();
  Result<ExprPtr> list();
  Result<ExprPtr> dict();
  Result<ExprPtr> postfix(ExprPtr base);
  Result<ExprPtr> filters(ExprPtr base);
  Result<ExprPtr> dot(ExprPtr base);
  Result<ExprPtr> subscript(ExprPtr base);
  Result<ExprPtr> subscribed(int line, ExprPtr base);
  Result<ExprPtr> several_subscripts(int line, ExprPtr node);
  Result<ExprPtr> call(ExprPtr base);
  Result<ExprPtr> test(ExprPtr subject);
  Result<void> test_arguments(Arguments& out);
  Result<void> argument(Arguments& out, NameSet& names);  // names: of those before
  Result<std::string> dotted_name();
  void note_unsupported(int line, std::string_view kind, std::string_view name);

  TokenStream* tokens_;
  int depth_ = 0;
  NameSet names_;
  bool lenient_ = false;
  std::vector<Error> unsupported_;
};

}  // namespace o3::text::jinja
