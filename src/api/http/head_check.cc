// SPDX-License-Identifier: Apache-2.0
#include "api/http/head_check.h"

#include <algorithm>
#include <array>
#include <string>

#include "api/http/message.h"

namespace o3::api::http {
namespace {

constexpr size_t kMaxFields = 100;

bool is_token(char c) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         kMarks.find(c) != std::string_view::npos;
}
bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return is_token(c); });
}
bool is_visible(char c) {
  return c > 0x20 && c < 0x7f;
}
// Bytes of 128 and above are allowed as RFC 9110's obs-text.
bool is_value(char c) {
  return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
}

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Fields that may be given once, and how often they were.
struct Singles {
  struct Seen {
    std::string_view name;
    int count = 0;
  };
  std::array<Seen, 5> rows{
      {{"Host"}, {"Content-Length"}, {"Transfer-Encoding"}, {"Authorization"}, {"Content-Type"}}};

  // False: given before.
  bool note(std::string_view name) {
    const auto row =
        std::ranges::find_if(rows, [&](const Seen& seen) { return same_name(seen.name, name); });
    return row == rows.end() || ++row->count == 1;
  }
  bool has(size_t index) const { return rows[index].count > 0; }
};

bool is_version(std::string_view text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return text.size() == 8 && text.starts_with("HTTP/") && digit(text[5]) && text[6] == '.' &&
         digit(text[7]);
}

Result<void> check_request_line(std::string_view line, bool& http10) {
  const size_t first = line.find(' ');
  const size_t second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos) return invalid("The request line is malformed.");
  const std::string_view target = line.substr(first + 1, second - first - 1);
  const std::string_view version = line.substr(second + 1);
  if (!is_token(line.substr(0, first))) return invalid("The request method is malformed.");
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    if (!is_version(version)) return invalid("The request line is malformed.");
    return unsupported("This server speaks HTTP/1.1 and HTTP/1.0.", "version");
  }
  http10 = version == "HTTP/1.0";
  if (!target.starts_with('/') || !std::ranges::all_of(target, is_visible) ||
      target.find('#') != std::string_view::npos) {
    return invalid("The request target must be a path that begins with '/'.");
  }
  return {};
}

Result<void> check_field(std::string_view line, Singles& singles) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
    return invalid("A header field is malformed or folded over lines.");
  }
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trim(line.substr(colon + 1));
  if (!std::ranges::all_of(value, is_value)) {
    return invalid("A header field holds a control character.");
  }
  if (!singles.note(name))
    return invalid("The header field " + std::string(name) + " is repeated.");
  if (same_name(name, "Content-Length") &&
      (value.empty() || value.size() > 18 ||
       !std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; }))) {
    return invalid("Content-Length must be a number.");
  }
  if (same_name(name, "Transfer-Encoding") && !same_name(value, "chunked")) {
    return unsupported("The only transfer coding understood is \"chunked\".");
  }
  return {};
}

Result<void> check_together(const Singles& singles, bool http10) {
  const bool host = singles.has(0);
  const bool length = singles.has(1);
  const bool coding = singles.has(2);
  if (!host && !http10) return invalid("The Host field is missing.");
  if (length && coding) return invalid("Content-Length and Transfer-Encoding exclude each other.");
  if (coding && http10) return invalid("HTTP/1.0 has no Transfer-Encoding.");
  return {};
}

}  // namespace

bool lines_are_whole(std::string_view text, size_t from) {
  for (size_t i = from; i < text.size(); ++i) {
    const bool after_cr = i > 0 && text[i - 1] == '\r';
    if ((text[i] == '\n') != after_cr) return false;
    if (text[i] != '\r' && text[i] != '\n' && !is_value(text[i])) return false;
  }
  return true;
}

Result<void> check_head(std::string_view head) {
  Singles singles;
  bool http10 = false;
  size_t lines = 0;
  while (true) {
    const size_t end = head.find("\r\n");
    if (end == std::string_view::npos) return invalid("The request's head has no end.");
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + 2);
    if (line.find_first_of("\r\n") != std::string_view::npos) {
      return invalid("A line of the request's head ends without CRLF.");
    }
    if (line.empty()) break;
    if (lines == 0) {
      O3_TRY(check_request_line(line, http10));
    } else {
      O3_TRY(check_field(line, singles));
    }
    if (++lines > kMaxFields + 1) return Error{Code::kTooLong, "More than 100 header fields.", {}};
  }
  if (lines == 0) return invalid("The request line is missing.");
  if (!head.empty()) return invalid("Text follows the request's head.");
  return check_together(singles, http10);
}

}  // namespace o3::api::http
