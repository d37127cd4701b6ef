// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <optional>
#include <span>

#include "text/jinja/parser.h"

namespace o3::text::jinja {
namespace {

// An end tag that stops a body: its names, e.g. {"else", "endfor"}.
using Stops = std::span<const std::string_view>;

class StatementParser {
 public:
  explicit StatementParser(std::vector<LexToken> tokens)
      : tokens_(std::move(tokens)), expressions_(tokens_) {}

  Result<Block> whole();

 private:
  Result<Block> block(Stops stops);  // stops at the name of the end tag, which stays
  // From the end of the opening tag. conditional: the body of an `if`.
  Result<Block> body(Stops stops, bool conditional = false);
  Result<void> end_tag(std::string_view name);

  Result<Stmt> statement();
  Result<Stmt> print_statement();
  Result<Stmt> for_statement(int line);
  Result<Stmt> if_statement(int line);
  Result<Stmt> set_statement(int line);
  Result<Stmt> macro_statement(int line);
  Result<Stmt> call_statement(int line);
  Result<Stmt> filter_statement(int line);
  Result<Stmt> with_statement(int line);
  Result<Stmt> generation_statement(int line);
  Result<Stmt> loop_control(int line, bool is_break);
  Result<void> print_tag(int line, Block& out);

  Result<Target> target(bool allow_member);
  Result<Target> target_item(bool allow_member);
  Result<std::vector<Parameter>> parameters();
  // The body of a macro or call block; loops around it do not reach into it.
  Result<void> macro_body(std::string_view end, MacroDefinition& macro);

  TokenStream tokens_;
  ExpressionParser expressions_;
  int loops_ = 0;  // loops that a break here would leave, and whose `loop` may not be assigned
};

template <size_t count>
constexpr std::array<std::string_view, count> names(const char* const (&texts)[count]) {
  std::array<std::string_view, count> out{};
  for (size_t i = 0; i < count; ++i) out[i] = texts[i];
  return out;
}

constexpr auto kEndFor = names({"endfor"});
constexpr auto kElseEndFor = names({"else", "endfor"});
constexpr auto kElifElseEndIf = names({"elif", "else", "endif"});
constexpr auto kEndIf = names({"endif"});
constexpr auto kEndSet = names({"endset"});
constexpr auto kEndFilter = names({"endfilter"});
constexpr auto kEndWith = names({"endwith"});
constexpr auto kEndGeneration = names({"endgeneration"});

Result<Block> StatementParser::whole() {
  O3_ASSIGN(Block out, block({}));
  O3_TRY(expressions_.check_names());
  return out;
}

Result<Block> StatementParser::block(Stops stops) {
  O3_TRY(expressions_.enter());
  Block out;
  while (!tokens_.at(TokenKind::kEnd)) {
    if (tokens_.at(TokenKind::kData)) {
      const LexToken& token = tokens_.next();
      out.push_back({token.line, TextStmt{std::make_shared<const TaintedString>(
                                     token.text, Origin::kTemplate)}});
      continue;
    }
    if (tokens_.at(TokenKind::kVariableBegin)) {
      O3_ASSIGN(Stmt printed, print_statement());
      out.push_back(std::move(printed));
      continue;
    }
    O3_TRY(tokens_.expect(TokenKind::kBlockBegin));
    for (const std::string_view stop : stops) {
      if (!tokens_.at_name(stop)) continue;
      expressions_.leave();
      return out;
    }
    if (tokens_.at_name("print")) {
      O3_TRY(print_tag(tokens_.next().line, out));
    } else {
      O3_ASSIGN(Stmt parsed, statement());
      out.push_back(std::move(parsed));
    }
    O3_TRY(tokens_.expect(TokenKind::kBlockEnd));
  }
  expressions_.leave();
  if (!stops.empty()) {
    return syntax_error(tokens_.line(),
                        "the template ends before '" + std::string(stops.back()) + "'");
  }
  return out;
}

Result<Block> StatementParser::body(Stops stops, bool conditional) {
  tokens_.skip_op(":");
  O3_TRY(tokens_.expect(TokenKind::kBlockEnd));
  const bool lenient = expressions_.set_lenient(conditional);
  O3_ASSIGN(Block out, block(stops));
  expressions_.set_lenient(lenient);
  return out;
}

Result<void> StatementParser::end_tag(std::string_view name) {
  return tokens_.expect_name(name);
}

Result<Stmt> StatementParser::print_statement() {
  const int line = tokens_.next().line;
  O3_ASSIGN(ExprPtr value, expressions_.tuple(true));
  O3_TRY(tokens_.expect(TokenKind::kVariableEnd));
  return Stmt{line, PrintStmt{std::move(value)}};
}

Result<void> StatementParser::print_tag(int line, Block& out) {
  bool first = true;
  while (!tokens_.at(TokenKind::kBlockEnd)) {
    if (!std::exchange(first, false)) O3_TRY(tokens_.expect_op(","));
    O3_ASSIGN(ExprPtr value, expressions_.expression());
    out.push_back({line, PrintStmt{std::move(value)}});
  }
  return {};
}

Result<Stmt> StatementParser::statement() {
  const int line = tokens_.line();
  O3_ASSIGN(const std::string tag, tokens_.expect_any_name());
  if (tag == "for") return for_statement(line);
  if (tag == "if") return if_statement(line);
  if (tag == "set") return set_statement(line);
  if (tag == "macro") return macro_statement(line);
  if (tag == "call") return call_statement(line);
  if (tag == "filter") return filter_statement(line);
  if (tag == "with") return with_statement(line);
  if (tag == "generation") return generation_statement(line);
  if (tag == "break") return loop_control(line, true);
  if (tag == "continue") return loop_control(line, false);
  return unsupported_at(line, "the tag '" + tag + "' is not supported");
}

Result<Stmt> StatementParser::for_statement(int line) {
  ++loops_;
  O3_ASSIGN(Target bound, target(false));
  O3_TRY(tokens_.expect_name("in"));
  O3_ASSIGN(ExprPtr source, expressions_.tuple(false, "recursive"));
  ExprPtr condition;
  if (tokens_.skip_name("if")) {
    O3_ASSIGN(condition, expressions_.expression());
  }
  const bool recursive = tokens_.skip_name("recursive");
  O3_ASSIGN(Block repeated, body(kElseEndFor));
  --loops_;
  Block otherwise;
  if (tokens_.skip_name("else")) {
    O3_ASSIGN(otherwise, body(kEndFor));
  }
  O3_TRY(end_tag("endfor"));
  return Stmt{line, ForStmt{std::move(bound), std::move(source), std::move(condition),
                            std::move(repeated), std::move(otherwise), recursive}};
}

Result<Stmt> StatementParser::if_statement(int line) {
  IfStmt node;
  const bool lenient = expressions_.set_lenient(true);
  while (true) {
    O3_ASSIGN(ExprPtr condition, expressions_.tuple(false));
    O3_ASSIGN(Block taken, body(kElifElseEndIf, true));
    node.branches.emplace_back(std::move(condition), std::move(taken));
    if (!tokens_.skip_name("elif")) break;
  }
  if (tokens_.skip_name("else")) {
    O3_ASSIGN(node.otherwise, body(kEndIf, true));
  }
  expressions_.set_lenient(lenient);
  O3_TRY(end_tag("endif"));
  return Stmt{line, std::move(node)};
}

Result<Stmt> StatementParser::set_statement(int line) {
  O3_ASSIGN(Target bound, target(true));
  if (tokens_.skip_op("=")) {
    O3_ASSIGN(ExprPtr value, expressions_.tuple(true));
    return Stmt{line, SetStmt{std::move(bound), std::move(value)}};
  }
  SetBlockStmt node{.target = std::move(bound), .filters = {}, .body = {}};
  while (tokens_.skip_op("|")) {
    O3_ASSIGN(FilterCall filter, expressions_.filter_call());
    node.filters.push_back(std::move(filter));
  }
  O3_ASSIGN(node.body, body(kEndSet));
  O3_TRY(end_tag("endset"));
  return Stmt{line, std::move(node)};
}

Result<std::vector<Parameter>> StatementParser::parameters() {
  std::vector<Parameter> out;
  NameSet names;
  O3_TRY(tokens_.expect_op("("));
  while (!tokens_.at_op(")")) {
    if (!out.empty()) O3_TRY(tokens_.expect_op(","));
    Parameter parameter;
    const int line = tokens_.line();
    O3_ASSIGN(parameter.name, tokens_.expect_any_name());
    if (!names.insert(parameter.name).second) {
      return syntax_error(line, "parameter '" + parameter.name + "' is named twice");
    }
    if (tokens_.skip_op("=")) {
      O3_ASSIGN(parameter.otherwise, expressions_.expression());
    } else if (!out.empty() && out.back().otherwise != nullptr) {
      return syntax_error(line, "non-default argument follows default argument");
    }
    out.push_back(std::move(parameter));
  }
  tokens_.next();
  return out;
}

Result<void> StatementParser::macro_body(std::string_view end, MacroDefinition& macro) {
  NameSet outside = expressions_.take_names();
  const int loops = std::exchange(loops_, 0);
  const std::array<std::string_view, 1> stops = {end};
  O3_ASSIGN(macro.body, body(stops));
  O3_TRY(end_tag(end));
  loops_ = loops;
  NameSet inside = expressions_.take_names();
  macro.uses_caller = inside.contains("caller");
  macro.uses_varargs = inside.contains("varargs");
  macro.uses_kwargs = inside.contains("kwargs");
  expressions_.add_names(std::move(outside));
  expressions_.add_names(std::move(inside));
  return {};
}

Result<Stmt> StatementParser::macro_statement(int line) {
  auto macro = std::make_shared<MacroDefinition>();
  O3_ASSIGN(macro->name, tokens_.expect_any_name());
  O3_ASSIGN(macro->parameters, parameters());
  O3_TRY(macro_body("endmacro", *macro));
  return Stmt{line, MacroStmt{std::move(macro)}};
}

Result<Stmt> StatementParser::call_statement(int line) {
  auto caller = std::make_shared<MacroDefinition>();
  caller->name = "caller";
  if (tokens_.at_op("(")) {
    O3_ASSIGN(caller->parameters, parameters());
  }
  O3_ASSIGN(ExprPtr call, expressions_.expression());
  if (!std::holds_alternative<CallExpr>(call->node)) return syntax_error(line, "expected call");
  O3_TRY(macro_body("endcall", *caller));
  return Stmt{line, CallStmt{std::move(caller), std::move(call)}};
}

Result<Stmt> StatementParser::filter_statement(int line) {
  FilterStmt node;
  do {
    O3_ASSIGN(FilterCall filter, expressions_.filter_call());
    node.filters.push_back(std::move(filter));
  } while (tokens_.skip_op("|"));
  O3_ASSIGN(node.body, body(kEndFilter));
  O3_TRY(end_tag("endfilter"));
  return Stmt{line, std::move(node)};
}

Result<Stmt> StatementParser::with_statement(int line) {
  WithStmt node;
  while (!tokens_.at(TokenKind::kBlockEnd)) {
    if (!node.bindings.empty()) O3_TRY(tokens_.expect_op(","));
    O3_ASSIGN(Target bound, target(false));
    O3_TRY(tokens_.expect_op("="));
    O3_ASSIGN(ExprPtr value, expressions_.expression());
    node.bindings.emplace_back(std::move(bound), std::move(value));
  }
  O3_ASSIGN(node.body, body(kEndWith));
  O3_TRY(end_tag("endwith"));
  return Stmt{line, std::move(node)};
}

Result<Stmt> StatementParser::generation_statement(int line) {
  ScopeStmt node;
  O3_ASSIGN(node.body, body(kEndGeneration));
  O3_TRY(end_tag("endgeneration"));
  return Stmt{line, std::move(node)};
}

Result<Stmt> StatementParser::loop_control(int line, bool is_break) {
  if (loops_ == 0) return syntax_error(line, "break and continue belong into a loop");
  if (is_break) return Stmt{line, BreakStmt{}};
  return Stmt{line, ContinueStmt{}};
}

Result<Target> StatementParser::target(bool allow_member) {
  O3_ASSIGN(Target first, target_item(allow_member));
  if (!tokens_.at_op(",")) return first;
  std::vector<Target> items;
  items.push_back(std::move(first));
  while (tokens_.skip_op(",")) {
    if (!tokens_.at(TokenKind::kName) && !tokens_.at_op("(")) break;
    if (tokens_.at_name("in")) break;
    O3_ASSIGN(Target item, target_item(allow_member));
    items.push_back(std::move(item));
  }
  return Target{std::move(items)};
}

Result<Target> StatementParser::target_item(bool allow_member) {
  const int line = tokens_.line();
  if (tokens_.skip_op("(")) {
    O3_TRY(expressions_.enter());
    O3_ASSIGN(Target inner, target(allow_member));
    expressions_.leave();
    O3_TRY(tokens_.expect_op(")"));
    return inner;
  }
  O3_ASSIGN(std::string name, tokens_.expect_any_name());
  constexpr auto kReserved = names({"true", "false", "none", "True", "False", "None"});
  if (std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end()) {
    return syntax_error(line, "can't assign to '" + name + "'");
  }
  if (allow_member && tokens_.skip_op(".")) {
    O3_ASSIGN(std::string member, tokens_.expect_any_name());
    return Target{TargetMember{std::move(name), std::move(member)}};
  }
  if (loops_ > 0 && name == "loop") {
    return syntax_error(line, "can't assign to the special loop variable");
  }
  return Target{TargetName{std::move(name)}};
}

}  // namespace

Result<Block> parse(std::string_view source) {
  O3_ASSIGN(std::vector<LexToken> tokens, tokenize(source));
  return StatementParser(std::move(tokens)).whole();
}

}  // namespace o3::text::jinja
