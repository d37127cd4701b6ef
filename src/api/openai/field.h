// SPDX-License-Identifier: Apache-2.0
// Internal to openai/: one JSON value read as a native type, or an error that names it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"

namespace o3::api::openai {

using Json = nlohmann::json;

Result<bool> read_flag(const Json& value, const std::string& path);
Result<std::string> read_text(const Json& value, const std::string& path);
// A real such as 3.0 is refused: a client that sends one has computed it.
Result<int64_t> read_integer(const Json& value, const std::string& path, int64_t min, int64_t max);
// In [min, max], or (min, max] if `above_min`.
Result<double> read_real(const Json& value, const std::string& path, double min, double max,
                         bool above_min = false);

// "PATH[3]"
inline std::string at(const std::string& path, size_t index) {
  return path + "[" + std::to_string(index) + "]";
}

// The member, or nullptr if it is absent or null: OpenAI's clients send null for "not set".
inline const Json* member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

}  // namespace o3::api::openai
