// SPDX-License-Identifier: Apache-2.0
#include "api/http/message.h"

#include <algorithm>
#include <array>
#include <ctime>

namespace o3::api::http {
namespace {

char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

}  // namespace

bool same_name(std::string_view a, std::string_view b) noexcept {
  return std::ranges::equal(a, b, {}, lower, lower);
}

const std::string* RequestHead::find(std::string_view name) const noexcept {
  for (const auto& [key, value] : fields) {
    if (same_name(key, name)) return &value;
  }
  return nullptr;
}

std::string_view reason_phrase(int status) noexcept {
  struct Row {
    int status;
    std::string_view phrase;
  };
  constexpr std::array kRows{
      Row{200, "OK"},
      Row{304, "Not Modified"},
      Row{400, "Bad Request"},
      Row{401, "Unauthorized"},
      Row{403, "Forbidden"},
      Row{404, "Not Found"},
      Row{405, "Method Not Allowed"},
      Row{408, "Request Timeout"},
      Row{409, "Conflict"},
      Row{413, "Content Too Large"},
      Row{415, "Unsupported Media Type"},
      Row{417, "Expectation Failed"},
      Row{429, "Too Many Requests"},
      Row{431, "Request Header Fields Too Large"},
      Row{499, "Client Closed Request"},
      Row{500, "Internal Server Error"},
      Row{501, "Not Implemented"},
      Row{503, "Service Unavailable"},
      Row{504, "Gateway Timeout"},
      Row{505, "HTTP Version Not Supported"},
  };
  const auto row = std::ranges::find(kRows, status, &Row::status);
  return row == kRows.end() ? "Status" : row->phrase;
}

std::string imf_date(int64_t unix_seconds) {
  const std::time_t seconds = unix_seconds;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 40> text{};
  const size_t length =
      std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return {text.data(), length};
}

std::string render_head(const Response& response, Framing framing, bool keep_alive,
                        std::string_view date) {
  std::string out = "HTTP/1.1 " + std::to_string(response.status) + " ";
  out.append(reason_phrase(response.status)).append("\r\n");
  append_field(out, "Date", date);
  append_field(out, "X-Content-Type-Options", "nosniff");
  if (!response.content_type.empty()) append_field(out, "Content-Type", response.content_type);
  for (const auto& [name, value] : response.fields) append_field(out, name, value);
  if (framing == Framing::kChunked) append_field(out, "Transfer-Encoding", "chunked");
  if (framing == Framing::kLength && response.status != 304) {
    append_field(out, "Content-Length", std::to_string(response.body.size()));
  }
  append_field(out, "Connection", keep_alive ? "keep-alive" : "close");
  return out.append("\r\n");
}

}  // namespace o3::api::http
