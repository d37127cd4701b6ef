// SPDX-License-Identifier: Apache-2.0
// An HTTP request's head and an answer, in native types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace o3::api::http {

inline constexpr std::string_view kRequestIdField = "X-Request-Id";

using Fields = std::vector<std::pair<std::string, std::string>>;

// A head that passed check_head(). Routing, authentication and handlers all read this one object,
// so they cannot disagree about what was asked.
struct RequestHead {
  std::string method;
  std::string path;  // of an origin-form target, without the query; not percent-decoded
  Fields fields;     // in order
  bool http10 = false;
  bool keep_alive = true;  // as the client asked
  bool has_body = false;
  std::optional<uint64_t> content_length;

  // The first field of that name (case-insensitive), or nullptr.
  const std::string* find(std::string_view name) const noexcept;
};

struct Response {
  int status = 200;
  std::string content_type{};
  std::string body{};
  Fields fields{};     // beyond Content-Type, Content-Length, Date and Connection
  bool close = false;  // the connection ends with this answer
};

enum class Framing : uint8_t {
  kLength,   // Content-Length: the whole body follows
  kChunked,  // Transfer-Encoding: chunked
  kToClose,  // HTTP/1.0 stream: the end of the connection ends the body
};

// Status line and fields, up to and with the empty line. `date` is an IMF-fixdate.
std::string render_head(const Response& response, Framing framing, bool keep_alive,
                        std::string_view date);

bool same_name(std::string_view a, std::string_view b) noexcept;  // ASCII, case-insensitive
std::string_view reason_phrase(int status) noexcept;
std::string imf_date(int64_t unix_seconds);

}  // namespace o3::api::http
