// SPDX-License-Identifier: Apache-2.0
// Reading the members of a component.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/hf/json_tree.h"
#include "text/regex/regex.h"

namespace o3::text {

// Absent or null: the default. Another kind of value is kInvalid.
Result<bool> bool_field(const JsonValue& json, std::string_view key, bool missing);
Result<std::string> string_field(const JsonValue& json, std::string_view key);  // must be there
Result<std::string> text_field(const JsonValue& json, std::string_view key);    // and not empty
Result<size_t> size_field(const JsonValue& json, std::string_view key, size_t missing);

std::string_view type_of(const JsonValue& json);  // "type", empty if absent

struct Pattern {
  std::string text;
  bool regex = false;  // else the text itself
};
Result<Pattern> pattern_field(const JsonValue& json);  // {"pattern": {"String" or "Regex": text}}
Result<Regex> compile_pattern(const Pattern& pattern);

}  // namespace o3::text
