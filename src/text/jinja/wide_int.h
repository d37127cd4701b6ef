// SPDX-License-Identifier: Apache-2.0
// Python's integers have any size. Those beyond 64 bits are kept as their digits: they print,
// compare and pass through exactly, and + - * // % work as long as 128 bits hold what they give.
#pragma once

#include <compare>
#include <string_view>

#include "text/jinja/operators.h"
#include "text/jinja/render_state.h"

namespace o3::text::jinja {

// Decimal digits with an optional '-', of any length up to Python's limit (4300 digits): an integer
// of whichever kind holds it. kUnsupported beyond.
Result<Value> integer_from_digits(std::string_view digits);

// The operators above and **, on integers of both kinds. kUnsupported where 128 bits do not hold
// the result, and for /.
Result<Value> wide_arithmetic(BinaryOp op, const Value& a, const Value& b);

// At least one is beyond 64 bits, the other any number.
std::partial_ordering wide_order(const Value& a, const Value& b);

Value wide_negated(const Value& value);  // value is beyond 64 bits

}  // namespace o3::text::jinja
