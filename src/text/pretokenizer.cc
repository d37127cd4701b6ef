// SPDX-License-Identifier: Apache-2.0
#include "text/pretokenizer.h"

#include <array>
#include <string>

#include "base/printable.h"
#include "text/unicode/category.h"
#include "text/unicode/utf8.h"

namespace o3::text {
namespace {

// How GPT-2's pattern sees a character.
enum class CharClass : uint8_t { kLetter, kNumber, kSpace, kOther, kEnd };

struct Char {
  CharClass kind = CharClass::kEnd;
  uint8_t bytes = 0;
};

CharClass class_of(char32_t code) noexcept {
  const Category c = category(code);
  if (is_letter(c)) return CharClass::kLetter;
  if (is_number(c)) return CharClass::kNumber;
  return is_white_space(code) ? CharClass::kSpace : CharClass::kOther;
}

constexpr std::array<CharClass, 128> make_ascii() {
  std::array<CharClass, 128> table{};
  for (size_t c = 0; c < table.size(); ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool space = c == ' ' || (c >= 0x09 && c <= 0x0D);
    table[c] = letter                   ? CharClass::kLetter
               : (c >= '0' && c <= '9') ? CharClass::kNumber
               : space                  ? CharClass::kSpace
                                        : CharClass::kOther;
  }
  return table;
}
constexpr std::array<CharClass, 128> kAscii = make_ascii();

Char char_at(std::string_view text, size_t at) noexcept {
  if (at >= text.size()) return {};
  const auto byte = static_cast<uint8_t>(text[at]);
  if (byte < kAscii.size()) return {kAscii[byte], 1};
  const Utf8Unit unit = next_utf8_unit(text.substr(at));
  return {class_of(unit.code), unit.bytes};
}

// End of the run of `kind` that begins at `at`.
size_t run_end(std::string_view text, size_t at, CharClass kind) noexcept {
  for (Char c = char_at(text, at); c.kind == kind; c = char_at(text, at)) at += c.bytes;
  return at;
}

// 's 't 're 've 'm 'll 'd, lower case only; 0 if the text does not begin with one.
size_t contraction(std::string_view text) noexcept {
  if (text.size() < 2 || text[0] != '\'') return 0;
  const std::string_view rest = text.substr(1);
  if (std::string_view("stmd").find(rest[0]) != std::string_view::npos) return 2;
  return rest.starts_with("re") || rest.starts_with("ve") || rest.starts_with("ll") ? 3 : 0;
}

// \s+(?!\S)|\s+ : a run of white space gives its last character to the piece that follows. Before
// a number nothing follows: the text was cut there.
size_t white_space(std::string_view text) noexcept {
  size_t at = 0;
  size_t last = 0;
  Char c = char_at(text, 0);
  while (c.kind == CharClass::kSpace) {
    last = at;
    at += c.bytes;
    c = char_at(text, at);
  }
  const bool cut = c.kind == CharClass::kEnd || c.kind == CharClass::kNumber;
  return cut || last == 0 ? at : last;
}

struct PretokenizerRow {
  std::string_view name;
  FirstPiece first_piece;
};
constexpr std::array kPretokenizers{PretokenizerRow{"smollm", &first_piece_smollm}};

}  // namespace

size_t first_piece_smollm(std::string_view text) {
  if (const size_t length = contraction(text); length != 0) return length;
  const Char first = char_at(text, 0);
  if (first.kind == CharClass::kNumber) return first.bytes;
  if (first.kind != CharClass::kSpace) return run_end(text, 0, first.kind);
  const Char second = text[0] == ' ' ? char_at(text, 1) : Char{};
  if (second.kind == CharClass::kLetter || second.kind == CharClass::kOther) {
    return run_end(text, 1, second.kind);
  }
  return white_space(text);
}

Result<FirstPiece> pretokenizer(std::string_view name) {
  std::string known;
  for (const PretokenizerRow& row : kPretokenizers) {
    if (row.name == name) return row.first_piece;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  return unsupported("pre-tokenizer \"" + printable(name) + "\" is not supported; known: " + known,
                     "tokenizer.ggml.pre");
}

}  // namespace o3::text
