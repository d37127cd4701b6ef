// SPDX-License-Identifier: Apache-2.0
#include "api/api_error.h"

#include <algorithm>
#include <array>

#include "api/json_text.h"

namespace o3::api {
namespace {

struct CodeRow {
  Code code;
  int status;
  std::string_view type;
  std::string_view wire_code;  // empty: null
};
constexpr std::string_view kRequest = "invalid_request_error";
constexpr std::string_view kServer = "server_error";
constexpr std::array kCodes{
    CodeRow{Code::kInvalid, 400, kRequest, ""},
    CodeRow{Code::kUnsupported, 400, kRequest, "unsupported_parameter"},
    CodeRow{Code::kUnauthenticated, 401, kRequest, "invalid_api_key"},
    CodeRow{Code::kDenied, 403, kRequest, "permission_denied"},
    CodeRow{Code::kNotFound, 404, kRequest, "model_not_found"},
    CodeRow{Code::kConflict, 409, kRequest, "conflict"},
    CodeRow{Code::kTooLong, 400, kRequest, "context_length_exceeded"},
    CodeRow{Code::kExhausted, 503, kServer, "overloaded"},
    CodeRow{Code::kCancelled, 503, kServer, "cancelled"},
    CodeRow{Code::kDeadline, 504, kServer, "deadline_exceeded"},
    CodeRow{Code::kUnavailable, 503, kServer, "unavailable"},
    CodeRow{Code::kInternal, 500, kServer, "internal_error"},
};

struct StatusRow {
  int status;
  std::string_view type;
  std::string_view wire_code;
};
constexpr std::array kStatuses{
    StatusRow{400, kRequest, "bad_request"},
    StatusRow{403, kRequest, "host_not_allowed"},
    StatusRow{404, kRequest, "unknown_url"},
    StatusRow{405, kRequest, "method_not_allowed"},
    StatusRow{408, kRequest, "request_timeout"},
    StatusRow{413, kRequest, "request_too_large"},
    StatusRow{415, kRequest, "unsupported_media_type"},
    StatusRow{417, kRequest, "expectation_failed"},
    StatusRow{431, kRequest, "headers_too_large"},
    StatusRow{500, kServer, "internal_error"},
    StatusRow{501, kRequest, "not_implemented"},
    StatusRow{503, kServer, "overloaded"},
    StatusRow{505, kRequest, "http_version_not_supported"},
};

// How long a client waits before it tries an overloaded server again.
constexpr std::string_view kRetrySeconds = "1";
constexpr std::string_view kRetryMillis = "1000";

void append_member(std::string& out, std::string_view name, std::string_view value) {
  out.append(",\"").append(name).append("\":");
  if (value.empty()) {
    out += "null";
  } else {
    append_json_string(out, value);
  }
}

}  // namespace

ApiError api_error(const Error& error) {
  const auto row = std::ranges::find(kCodes, error.code, &CodeRow::code);
  O3_CHECK(row != kCodes.end(), "a code without a status");
  const bool hide = error.code == Code::kInternal;
  return {.status = row->status,
          .type = row->type,
          .code = row->wire_code,
          .message = hide ? "The server failed to answer this request." : error.message,
          .param = error.param};
}

ApiError http_error(int status, std::string message) {
  const auto row = std::ranges::find(kStatuses, status, &StatusRow::status);
  O3_CHECK(row != kStatuses.end(), "a status without a type");
  return {.status = status,
          .type = row->type,
          .code = row->wire_code,
          .message = std::move(message),
          .param = {}};
}

std::string error_body(const ApiError& error) {
  std::string out = "{\"error\":{\"message\":";
  append_json_string(out, error.message);
  append_member(out, "type", error.type);
  append_member(out, "param", error.param);
  append_member(out, "code", error.code);
  return out + "}}";
}

http::Response error_response(const ApiError& error) {
  http::Response response{.status = error.status,
                          .content_type = "application/json",
                          .body = error_body(error),
                          .fields = {}};
  if (error.status == 401) response.fields.emplace_back("WWW-Authenticate", "Bearer");
  if (error.status == 429 || error.status == 503) {
    response.fields.emplace_back("Retry-After", kRetrySeconds);
    response.fields.emplace_back("retry-after-ms", kRetryMillis);
  } else if (error.status >= 500) {
    response.fields.emplace_back("x-should-retry", "false");
  }
  return response;
}

}  // namespace o3::api
