// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "text/jinja/parser.h"
#include "text/jinja/unicode.h"

namespace o3::text::jinja {
namespace {

std::string describe(const LexToken& token) {
  switch (token.kind) {
    case TokenKind::kData:
      return "text";
    case TokenKind::kBlockBegin:
      return "'{%'";
    case TokenKind::kBlockEnd:
      return "'%}'";
    case TokenKind::kVariableBegin:
      return "'{{'";
    case TokenKind::kVariableEnd:
      return "'}}'";
    case TokenKind::kString:
      return "a string";
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return "a number";
    case TokenKind::kName:
    case TokenKind::kOperator: {
      size_t end = 0;  // of what is shown: whole characters
      while (end < token.text.size() && end < 40) end += utf8_length(token.text[end]);
      return "'" + token.text.substr(0, end) + "'";
    }
    case TokenKind::kEnd:
      return "the end of the template";
  }
  return "a token";
}

}  // namespace

Error TokenStream::unexpected() const {
  return syntax_error(line(), "unexpected " + describe(peek()));
}

Result<void> TokenStream::expect_op(std::string_view op) {
  if (skip_op(op)) return {};
  return syntax_error(line(), "expected '" + std::string(op) + "', found " + describe(peek()));
}

Result<void> TokenStream::expect_name(std::string_view name) {
  if (skip_name(name)) return {};
  return syntax_error(line(), "expected '" + std::string(name) + "', found " + describe(peek()));
}

Result<void> TokenStream::expect(TokenKind kind) {
  if (!at(kind)) return unexpected();
  next();
  return {};
}

Result<std::string> TokenStream::expect_any_name() {
  if (!at(TokenKind::kName)) {
    return syntax_error(line(), "expected a name, found " + describe(peek()));
  }
  return next().text;
}

}  // namespace o3::text::jinja
