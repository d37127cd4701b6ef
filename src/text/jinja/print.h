// SPDX-License-Identifier: Apache-2.0
// Values as text: Python's str(), repr() and json.dumps().
#pragma once

#include <optional>
#include <string>

#include "text/jinja/render_state.h"

namespace o3::text::jinja {

// str(value); a string is itself. Things that would print their address are refused.
Result<StringPtr> to_string(RenderState& state, const Value& value);
Result<TaintedString> repr(RenderState& state, const Value& value);
std::string float_repr(double value);

struct JsonFormat {
  bool ensure_ascii = false;
  bool sort_keys = false;
  std::optional<TaintedString> indent;  // one level; none: everything on one line
  TaintedString item_separator{", ", Origin::kTemplate};
  TaintedString key_separator{": ", Origin::kTemplate};
};
Result<TaintedString> to_json(RenderState& state, const Value& value, const JsonFormat& format);

}  // namespace o3::text::jinja
