// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace o3::text {

// The bytes that base64 text stands for (RFC 4648 section 4, padded); nothing if it is not that.
std::optional<std::string> base64_bytes(std::string_view text);

}  // namespace o3::text
