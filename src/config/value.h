// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "config/setting.h"

namespace o3::config {

// kFlag -> bool; kInt, kBytes, kMillis -> int64_t; kReal -> double; kText -> string; kList ->
// vector.
using Value = std::variant<bool, int64_t, double, std::string, std::vector<std::string>>;

// One text as the value of a row, bounds checked. For kList the text is one item. The error says
// what is allowed; it names neither the setting nor its place, which the caller knows better, and
// repeats the text only if the row is not secret.
Result<Value> parse_value(const Setting& setting, std::string_view text);

// Checks the number of items (kList only; other kinds are checked by parse_value).
Result<void> check_count(const Setting& setting, size_t items);

// "a whole number in 1..65535", "a time in 1ms..1h with its unit (ms, s, m, h)", "true or false":
// the allowed values, for messages and help.
std::string allowed(const Setting& setting);

// The value in a form parse_value takes back; "(secret)" for secret rows.
std::string show(const Setting& setting, const Value& value);

}  // namespace o3::config
