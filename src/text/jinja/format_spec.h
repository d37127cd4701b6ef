// SPDX-License-Identifier: Apache-2.0
// Python's format specification mini-language, which str.format() and, rewritten, % share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "text/jinja/render_state.h"

namespace o3::text::jinja {

struct FormatSpec {
  std::string fill = " ";  // one character
  char align = 0;          // < > ^ =, or 0: as the type has it
  char sign = '-';         // + - or blank
  bool alternate = false;  // #
  char grouping = 0;       // , or _
  std::optional<int64_t> width;
  std::optional<int64_t> precision;
  char type = 0;
};

// kInvalid: not of the mini-language.
Result<FormatSpec> parse_format_spec(std::string_view text);

// format(value, spec); an empty spec is str(value). Padding and separators get `origin`, everything
// else keeps the value's own.
Result<TaintedString> format_value(RenderState& state, const Value& value, const FormatSpec& spec,
                                   Origin origin);

// Text cut to the precision and padded to the width (align 0: left).
Result<TaintedString> format_text(RenderState& state, const TaintedString& text,
                                  const FormatSpec& spec, Origin origin);

}  // namespace o3::text::jinja
