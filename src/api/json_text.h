// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace o3::api {

// Appends the JSON string of `text`, quotes included (RFC 8259). The result is valid UTF-8 whatever
// the input: each maximal ill-formed part becomes U+FFFD. U+2028 and U+2029 stay as they are.
void append_json_string(std::string& out, std::string_view text);

}  // namespace o3::api
