// SPDX-License-Identifier: Apache-2.0
// Template source to tokens, with Hugging Face's settings: trim_blocks and lstrip_blocks on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace o3::text::jinja {

constexpr size_t kMaxTemplateBytes = 1u << 20;

enum class TokenKind : uint8_t {
  kData,           // text outside tags
  kBlockBegin,     // {%
  kBlockEnd,       // %}
  kVariableBegin,  // {{
  kVariableEnd,    // }}
  kName,
  kString,  // text is the unescaped value
  kInteger,
  kFloat,
  kOperator,  // text is the operator
  kEnd,
};

struct LexToken {
  TokenKind kind = TokenKind::kEnd;
  int line = 1;
  std::string text;
  int64_t integer = 0;  // kInteger, unless `text` holds more digits than it can
  bool beyond_64_bits = false;
  double number = 0;
};

// Always ends with one kEnd. Comments are dropped, raw blocks are kData.
Result<std::vector<LexToken>> tokenize(std::string_view source);

// An error of the template itself, with its line.
Error syntax_error(int line, std::string_view problem);
Error unsupported_at(int line, std::string_view problem);
// The error with the line in front, unless it has a place already.
Error located(Error error, int line);

}  // namespace o3::text::jinja
