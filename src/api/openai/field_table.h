// SPDX-License-Identifier: Apache-2.0
// What the server does with each top-level field of a request. docs/http.md prints this table;
// /openapi.json is made from it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "base/result.h"

namespace o3::api::openai {

enum class Endpoint : uint8_t { kChat = 1, kCompletions = 2 };

enum class Treatment : uint8_t {
  kHonoured,
  kIgnored,      // accepted: it does not change the answer
  kUnsupported,  // refused by name, unless its value asks for nothing (e.g. modalities: ["text"])
  kUnknown,      // accepted, counted and named in a warning; refused with --strict-params
};

Treatment treatment(Endpoint endpoint, std::string_view field) noexcept;

// For kUnsupported fields: kUnsupported, with what would be accepted, unless the value is harmless.
Result<void> check_unsupported(Endpoint endpoint, std::string_view field,
                               const nlohmann::json& value);

// The JSON schemas of the fields that an endpoint honours or ignores, by name.
nlohmann::ordered_json field_schemas(Endpoint endpoint);

}  // namespace o3::api::openai
