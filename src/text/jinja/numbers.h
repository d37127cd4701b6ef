// SPDX-License-Identifier: Apache-2.0
// Text to numbers, by Python's rules (blanks around, underscores between digits, any script's
// digits).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "text/jinja/value.h"

namespace o3::text::jinja {

std::optional<double> parse_float(std::string_view text);

// jinja2's int filter: int(value, base), else int(float(value)), else `otherwise`. kUnsupported
// beyond 64 bits.
Result<Value> to_int(const Value& value, int64_t base, const Value& otherwise);

// Where a number made from this value's text came from.
Origin number_origin(const Value& value);

}  // namespace o3::text::jinja
