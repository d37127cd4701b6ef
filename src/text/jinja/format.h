// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "text/jinja/call.h"

namespace o3::text::jinja {

// str.format(*positional, **named) of call.self.
Result<Value> format_string(Call& call);

// format % values; format is a string.
Result<Value> percent_format(RenderState& state, const Value& format, const Value& values);

}  // namespace o3::text::jinja
