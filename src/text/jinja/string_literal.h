// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace o3::text::jinja {

// The value of what stands between a literal's quotes, by Python's escapes (its unicode-escape
// codec, as jinja2 uses it).
Result<std::string> unescape(std::string_view text);

// \x41, \u2028 or \U0001f600, as repr() writes characters.
std::string hex_escape(char32_t c);

}  // namespace o3::text::jinja
