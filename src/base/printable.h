// SPDX-License-Identifier: Apache-2.0
// Text of files and clients, made fit for people's terminals: no escape sequences, not without end.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace o3 {

// For a name in a message: control and non-ASCII bytes as \xNN, cut after 80 bytes ("...").
std::string printable(std::string_view text);

// "a; b; c and 17 more": the first eight.
std::string list_of(std::span<const std::string> parts, std::string_view separator);

// For a line of a log: ASCII and C1 control characters as \xNN, other bytes as they are, cut after
// 4,096 bytes. Appends.
void append_line(std::string& out, std::string_view text);

}  // namespace o3
