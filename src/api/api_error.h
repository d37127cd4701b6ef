// SPDX-License-Identifier: Apache-2.0
// How an error looks to a client: the one map from our codes to HTTP, and the OpenAI error object
// {"error":{"message","type","param","code"}}.
#pragma once

#include <string>
#include <string_view>

#include "api/http/message.h"
#include "base/result.h"

namespace o3::api {

struct ApiError {
  int status = 500;
  std::string_view type = "server_error";
  std::string_view code;  // empty: null
  std::string message;
  std::string param;  // empty: null
};

// Code -> status, type, code. kTooLong is a context that is too small (400
// context_length_exceeded); kNotFound is a model (404 model_not_found); kInternal keeps its message
// out of the answer.
ApiError api_error(const Error& error);

// For what HTTP refuses before there is one of our codes (404 of an address, 413, 415, ...).
ApiError http_error(int status, std::string message);

std::string error_body(const ApiError& error);  // the JSON object

// With the fields that tell clients whether to try again: Retry-After and retry-after-ms on 429 and
// 503, x-should-retry: false on other 5xx, WWW-Authenticate on 401.
http::Response error_response(const ApiError& error);

}  // namespace o3::api
