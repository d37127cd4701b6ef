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
  TaintedString fill{" ", Origin::kTemplate};  // one character
  // kContent where a message wrote any other part: then its author chose how a number is written.
  Origin origin = Origin::kTemplate;
  char align = 0;          // < > ^ =, or 0: as the type has it
  char sign = '-';         // + - or blank
  bool alternate = false;  // #
  char grouping = 0;       // , or _
  std::optional<int64_t> width;
  std::optional<int64_t> precision;
  char type = 0;
};

// kInvalid: not of the mini-language.
Result<FormatSpec> parse_format_spec(const TaintedString& text);

// format(value, spec); an empty spec is str(value). Padding has the origin of the fill character,
// text its own; a number is content where its value or the specification is.
Result<TaintedString> format_value(RenderState& state, const Value& value, const FormatSpec& spec);

// Text cut to the precision and padded to the width (align 0: left).
Result<TaintedString> format_text(RenderState& state, const TaintedString& text,
                                  const FormatSpec& spec);

}  // namespace o3::text::jinja
