// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace o3::api::http {

// Refuses heads that two readers could understand differently (request smuggling), before the
// parser sees them. `head` ends with the empty line. Checked (RFC 9112): CRLF line ends only, no
// control characters, no folded lines, no space before a colon, an origin-form target, HTTP/1.0 or
// 1.1, exactly one Host (HTTP/1.1), at most one Content-Length (digits), Transfer-Encoding only
// "chunked", once, with HTTP/1.1 and without Content-Length, no repeated Authorization or
// Content-Type, at most 100 fields. kUnsupported: another version (param "version") or transfer
// coding; kTooLong: more fields.
Result<void> check_head(std::string_view head);

// Whether text that has no end yet can still become lines ended by CRLF: no bare CR or LF, no other
// control character. Bytes before `from` were looked at before. A head that fails is refused at
// once, and not when its time is up.
bool lines_are_whole(std::string_view text, size_t from);

}  // namespace o3::api::http
