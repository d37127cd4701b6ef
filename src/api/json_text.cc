// SPDX-License-Identifier: Apache-2.0
#include "api/json_text.h"

#include <algorithm>

#include "text/detokenizer.h"

namespace o3::api {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += "\\u00";
          out += kHex[static_cast<unsigned char>(c) >> 4];
          out += kHex[static_cast<unsigned char>(c) & 15];
        } else {
          out += c;
        }
    }
  }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  if (std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; })) {
    append_escaped(out, text);
  } else {
    std::string whole;
    text::Utf8Stream repair;
    repair.push(text, whole);
    repair.flush(whole);
    append_escaped(out, whole);
  }
  out += '"';
}

}  // namespace o3::api
