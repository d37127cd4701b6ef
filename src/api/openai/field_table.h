// SPDX-License-Identifier: Apache-2.0
// What the server does with each top-level field of a chat request. docs/http.md prints this table.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace o3::api::openai {

enum class Treatment : uint8_t {
  kHonoured,
  kIgnored,      // accepted: it does not change the answer
  kUnsupported,  // refused by name, unless its value asks for nothing (e.g. n: 1)
  kUnknown,      // accepted, counted and named in a warning; refused with --strict-params
};

Treatment treatment(std::string_view field) noexcept;

// For kUnsupported fields: kUnsupported, with what would be accepted, unless the value is harmless.
Result<void> check_unsupported(std::string_view field, const nlohmann::json& value);

}  // namespace o3::api::openai
