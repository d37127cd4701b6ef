// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/lexer.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "text/jinja/string_literal.h"
#include "text/jinja/unicode.h"
#include "text/unicode/category.h"
#include "text/unicode/utf8.h"

namespace o3::text::jinja {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
// Characters of Python's identifiers, but for a few that only compatibility forms need.
bool is_name_start(char32_t c) {
  return c == '_' || is_alphabetic(c) || category(c) == Category::kNl;
}
bool is_name_part(char32_t c) {
  const Category kind = category(c);
  return is_name_start(c) || kind == Category::kNd || kind == Category::kMn ||
         kind == Category::kMc || kind == Category::kPc;
}

// End of the name at `begin`, or begin.
size_t name_end(std::string_view text, size_t begin) {
  size_t end = begin;
  while (end < text.size()) {
    size_t next = end;
    const char32_t c = next_code_point(text, next);
    if (!(end == begin ? is_name_start(c) : is_name_part(c))) break;
    end = next;
  }
  return end;
}

// Line ends become \n, and one at the end is dropped.
std::string normalized(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
      continue;
    }
    out += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(normalized(source)) {}
  Result<std::vector<LexToken>> run();

 private:
  enum class Tag : uint8_t { kBlock, kVariable, kComment, kRaw };

  Result<void> lex_root();
  Result<void> lex_comment();
  Result<void> lex_raw();
  Result<void> lex_tag(Tag tag);
  Result<bool> lex_tag_end(Tag tag);
  Result<void> lex_expression_token();
  Result<void> lex_number();
  Result<void> lex_string();
  Result<void> lex_operator();
  Result<void> balance(char c);

  std::string_view rest() const { return std::string_view(source_).substr(pos_); }
  bool at(std::string_view text) const { return rest().starts_with(text); }
  size_t space_end(size_t from) const;
  std::optional<size_t> raw_tag_end(size_t begin, std::string_view word, bool trims) const;
  void emit_data(std::string_view text, char sign, bool strips_line);
  void emit(TokenKind kind, std::string text = {}) {
    tokens_.push_back({.kind = kind, .line = line_, .text = std::move(text)});
  }
  // Moves on, counting lines.
  void advance_to(size_t pos) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(pos_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(pos), '\n'));
    pos_ = pos;
  }
  void finish_tag(size_t end) {
    advance_to(end);
    line_starting_ = source_[end - 1] == '\n';
  }

  std::string source_;
  size_t pos_ = 0;
  int line_ = 1;
  bool line_starting_ = true;  // the text before pos_ ended with a line end
  std::string open_;           // brackets that are open in the tag
  std::vector<LexToken> tokens_;
};

size_t Lexer::space_end(size_t from) const {
  while (from < source_.size()) {
    size_t next = from;
    if (!is_space(next_code_point(source_, next))) break;
    from = next;
  }
  return from;
}

// Text before a tag whose opening carries `sign` ('-', '+' or 0).
void Lexer::emit_data(std::string_view text, char sign, bool strips_line) {
  if (sign == '-') {
    while (!text.empty()) {
      const size_t before = previous_code_point(text, text.size());
      size_t at = before;
      if (!is_space(next_code_point(text, at))) break;
      text = text.substr(0, before);
    }
  } else if (sign != '+' && strips_line) {
    const size_t newline = text.rfind('\n');
    const size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
    if (begin > 0 || line_starting_) {
      const auto offset = static_cast<size_t>(text.data() - source_.data());
      if (space_end(offset + begin) >= offset + text.size()) text = text.substr(0, begin);
    }
  }
  if (!text.empty()) emit(TokenKind::kData, std::string(text));
}

// `begin` is behind "{%" and its sign. The end of "raw %}" or "endraw %}", if that is what stands
// there.
std::optional<size_t> Lexer::raw_tag_end(size_t begin, std::string_view word, bool trims) const {
  size_t pos = space_end(begin);
  const std::string_view all = source_;
  if (!all.substr(pos).starts_with(word)) return std::nullopt;
  pos = space_end(pos + word.size());
  if (all.substr(pos).starts_with("-%}")) return space_end(pos + 3);
  if (trims && all.substr(pos).starts_with("+%}")) return pos + 3;
  if (!all.substr(pos).starts_with("%}")) return std::nullopt;
  pos += 2;
  return trims && pos < all.size() && all[pos] == '\n' ? pos + 1 : pos;
}

Result<void> Lexer::lex_root() {
  size_t tag = pos_;
  while (true) {
    tag = source_.find('{', tag);
    if (tag == std::string::npos || tag + 1 >= source_.size()) {
      emit(TokenKind::kData, source_.substr(pos_));
      advance_to(source_.size());
      return {};
    }
    const char next = source_[tag + 1];
    if (next == '%' || next == '{' || next == '#') break;
    ++tag;
  }
  const char kind = source_[tag + 1];
  size_t behind = tag + 2;
  char sign = 0;
  if (behind < source_.size() && (source_[behind] == '-' || source_[behind] == '+')) {
    sign = source_[behind++];
  }
  emit_data(std::string_view(source_).substr(pos_, tag - pos_), sign, kind != '{');
  advance_to(tag);
  if (kind == '%') {
    if (const auto end = raw_tag_end(behind, "raw", false)) {
      finish_tag(*end);
      return lex_raw();
    }
    emit(TokenKind::kBlockBegin);
    advance_to(behind);
    return lex_tag(Tag::kBlock);
  }
  if (kind == '{') emit(TokenKind::kVariableBegin);
  advance_to(behind);
  return kind == '{' ? lex_tag(Tag::kVariable) : lex_comment();
}

Result<void> Lexer::lex_comment() {
  const size_t close = source_.find("#}", pos_);
  if (close == std::string::npos) return syntax_error(line_, "the comment does not end");
  size_t end = close + 2;
  const char sign = close > pos_ ? source_[close - 1] : '\0';
  if (sign == '-') {
    end = space_end(end);
  } else if (sign != '+' && end < source_.size() && source_[end] == '\n') {
    ++end;
  }
  finish_tag(end);
  return {};
}

Result<void> Lexer::lex_raw() {
  for (size_t tag = source_.find("{%", pos_); tag != std::string::npos;
       tag = source_.find("{%", tag + 2)) {
    size_t behind = tag + 2;
    char sign = 0;
    if (behind < source_.size() && (source_[behind] == '-' || source_[behind] == '+')) {
      sign = source_[behind++];
    }
    const auto end = raw_tag_end(behind, "endraw", true);
    if (!end) continue;
    emit_data(std::string_view(source_).substr(pos_, tag - pos_), sign, true);
    finish_tag(*end);
    return {};
  }
  return syntax_error(line_, "the raw block does not end");
}

Result<bool> Lexer::lex_tag_end(Tag tag) {
  if (!open_.empty()) return false;
  const bool block = tag == Tag::kBlock;
  const std::string_view close = block ? "%}" : "}}";
  size_t end = 0;
  if (rest().starts_with("-") && rest().substr(1).starts_with(close)) {
    end = space_end(pos_ + 3);
  } else if (block && at("+%}")) {
    end = pos_ + 3;
  } else if (at(close)) {
    end = pos_ + 2;
    if (block && end < source_.size() && source_[end] == '\n') ++end;
  } else {
    return false;
  }
  emit(block ? TokenKind::kBlockEnd : TokenKind::kVariableEnd);
  finish_tag(end);
  return true;
}

Result<void> Lexer::lex_tag(Tag tag) {
  open_.clear();
  while (pos_ < source_.size()) {
    O3_ASSIGN(const bool ended, lex_tag_end(tag));
    if (ended) return {};
    const size_t behind_space = space_end(pos_);
    if (behind_space > pos_) {
      advance_to(behind_space);
    } else {
      O3_TRY(lex_expression_token());
    }
  }
  return {};  // the parser meets kEnd and says what it misses
}

Result<void> Lexer::lex_expression_token() {
  const char c = source_[pos_];
  if (is_digit(c)) return lex_number();
  const size_t name = name_end(source_, pos_);
  if (name > pos_) {
    emit(TokenKind::kName, source_.substr(pos_, name - pos_));
    advance_to(name);
    return {};
  }
  if (c == '\'' || c == '"') return lex_string();
  return lex_operator();
}

// Digits with single underscores between them; the end of what matched (pos if nothing).
size_t digits_end(std::string_view text, size_t pos) {
  while (pos < text.size() && is_digit(text[pos])) {
    ++pos;
    if (pos + 1 < text.size() && text[pos] == '_' && is_digit(text[pos + 1])) ++pos;
  }
  return pos;
}

// End of a float at `begin`, or begin.
size_t float_end(std::string_view text, size_t begin) {
  size_t pos = digits_end(text, begin);
  bool is_float = false;
  if (pos + 1 < text.size() && text[pos] == '.' && is_digit(text[pos + 1])) {
    pos = digits_end(text, pos + 1);
    is_float = true;
  }
  if (pos < text.size() && (text[pos] == 'e' || text[pos] == 'E')) {
    size_t exponent = pos + 1;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
    const size_t end = digits_end(text, exponent);
    if (end > exponent) return end;
  }
  return is_float ? pos : begin;
}

// End of an integer at `begin`, and its base.
std::pair<size_t, int> integer_end(std::string_view text, size_t begin) {
  const auto in_base = [](char c, int base) {
    if (base == 16) return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    return c >= '0' && c < '0' + base;
  };
  const auto run = [&](size_t pos, int base) {
    while (pos < text.size()) {
      const bool skips = text[pos] == '_' && pos + 1 < text.size();
      if (!in_base(text[skips ? pos + 1 : pos], base)) break;
      pos += skips ? 2 : 1;
    }
    return pos;
  };
  if (text[begin] == '0' && begin + 1 < text.size()) {
    const char letter = static_cast<char>(text[begin + 1] | 0x20);
    const int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    if (base != 0 && run(begin + 2, base) > begin + 2) return {run(begin + 2, base), base};
  }
  return {text[begin] == '0' ? run(begin + 1, 1) : run(begin, 10), 10};
}

Result<void> Lexer::lex_number() {
  const bool after_dot = pos_ > 0 && source_[pos_ - 1] == '.';
  const size_t end_of_float = after_dot ? pos_ : float_end(source_, pos_);
  if (end_of_float > pos_) {
    std::string digits = source_.substr(pos_, end_of_float - pos_);
    std::erase(digits, '_');
    emit(TokenKind::kFloat);
    tokens_.back().number = std::strtod(digits.c_str(), nullptr);
    advance_to(end_of_float);
    return {};
  }
  const auto [end, base] = integer_end(source_, pos_);
  std::string digits = source_.substr(pos_, end - pos_);
  std::erase(digits, '_');
  const size_t prefix = base == 10 ? 0 : 2;
  int64_t value = 0;
  const auto result =
      std::from_chars(digits.data() + prefix, digits.data() + digits.size(), value, base);
  const bool beyond = result.ec != std::errc();
  if (beyond && base != 10) {
    return unsupported_at(line_, "integers beyond 64 bits are supported in base 10 only");
  }
  emit(TokenKind::kInteger, std::move(digits));
  tokens_.back().integer = value;
  tokens_.back().beyond_64_bits = beyond;
  advance_to(end);
  return {};
}

Result<void> Lexer::lex_string() {
  const char quote = source_[pos_];
  size_t end = pos_ + 1;
  while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
  if (end >= source_.size()) return syntax_error(line_, "the string does not end");
  auto value = unescape(std::string_view(source_).substr(pos_ + 1, end - pos_ - 1));
  if (!value.ok()) return located(value.error(), line_);
  emit(TokenKind::kString, *std::move(value));
  advance_to(end + 1);
  return {};
}

Result<void> Lexer::balance(char c) {
  if (c == '(' || c == '[' || c == '{') {
    open_ += c;
    return {};
  }
  const char opener = c == ')' ? '(' : c == ']' ? '[' : '{';
  if (open_.empty() || open_.back() != opener) {
    return syntax_error(line_, std::string("unexpected '") + c + "'");
  }
  open_.pop_back();
  return {};
}

Result<void> Lexer::lex_operator() {
  constexpr std::string_view kDouble[] = {"//", "**", "==", "!=", ">=", "<="};
  constexpr std::string_view kSingle = "+-/*%~[](){}><=.:|,;";
  for (const std::string_view op : kDouble) {
    if (!at(op)) continue;
    emit(TokenKind::kOperator, std::string(op));
    advance_to(pos_ + 2);
    return {};
  }
  const char c = source_[pos_];
  if (kSingle.find(c) == std::string_view::npos) {
    const std::string whole(rest().substr(0, utf8_length(c)));
    return syntax_error(line_, "unexpected character '" + whole + "'");
  }
  if (std::string_view("()[]{}").find(c) != std::string_view::npos) O3_TRY(balance(c));
  emit(TokenKind::kOperator, std::string(1, c));
  advance_to(pos_ + 1);
  return {};
}

Result<std::vector<LexToken>> Lexer::run() {
  while (pos_ < source_.size()) O3_TRY(lex_root());
  emit(TokenKind::kEnd);
  return std::move(tokens_);
}

}  // namespace

Error syntax_error(int line, std::string_view problem) {
  return invalid("chat template line " + std::to_string(line) + ": " + std::string(problem),
                 "chat_template");
}

Error unsupported_at(int line, std::string_view problem) {
  return unsupported("chat template line " + std::to_string(line) + ": " + std::string(problem),
                     "chat_template");
}

Error located(Error error, int line) {
  if (!error.param.empty()) return error;
  return Error{error.code, syntax_error(line, error.message).message, "chat_template"};
}

Result<std::vector<LexToken>> tokenize(std::string_view source) {
  if (source.size() > kMaxTemplateBytes) {
    return Error{Code::kTooLong, "the chat template is larger than 1 MiB", "chat_template"};
  }
  if (!is_utf8(source)) return invalid("the chat template is not UTF-8", "chat_template");
  return Lexer(source).run();
}

}  // namespace o3::text::jinja
