// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "text/jinja/render_state.h"

namespace o3::text::jinja {

// The text as a value; ill-formed UTF-8 becomes U+FFFD.
Value from_text(std::string_view text, Origin origin);

// kTooLong for deep nesting. A binary value is a whole number's digits (json_input.h).
Result<Value> from_json(RenderState& state, const nlohmann::ordered_json& json, Origin origin);

}  // namespace o3::text::jinja
