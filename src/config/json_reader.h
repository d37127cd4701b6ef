// SPDX-License-Identifier: Apache-2.0
// JSON that comes from outside, bounded while it is read. Never recursive, so depth costs no stack.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace o3::config {

struct JsonLimits {
  size_t bytes = 4 << 20;   // of the whole text
  int depth = 64;           // nested arrays and objects
  size_t values = 200'000;  // values of every kind
  size_t key_bytes = 1024;  // of one key
};

// RFC 8259, strict: valid UTF-8, no comments, no trailing text, no duplicate keys (two readers of
// one body must not see different requests), no number outside the range of double. A whole number
// that fits neither int64 nor uint64 becomes a real. Errors are kInvalid (kTooLong for a limit);
// the message gives the byte position, `param` the path of the value being read
// ("messages[3].role").
Result<nlohmann::json> read_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace o3::config
