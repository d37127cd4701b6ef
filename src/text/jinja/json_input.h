// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace o3::text {

// One JSON text for a template: members keep their order, and whole numbers of any size stay exact,
// as Python's json has it. A number that fits neither int64 nor uint64 becomes a binary value that
// holds its digits (JSON text has no binary values of its own); jinja::from_json() reads it.
// kInvalid: not JSON, a number outside the range of double, nested deeper than 200 levels,
// more than 4096 members of an object or a million values.
Result<nlohmann::ordered_json> read_template_json(std::string_view text);

}  // namespace o3::text
