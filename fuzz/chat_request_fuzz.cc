// SPDX-License-Identifier: Apache-2.0
// Any body: refused with an error object that is valid JSON, or a request inside its bounds.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "api/api_error.h"
#include "api/openai/chat_request.h"
#include "base/check.h"

namespace {

using o3::api::openai::ChatRequest;

void check_bounds(const ChatRequest& request) {
  O3_CHECK(!request.conversation.messages.empty(), "at least one message");
  for (const auto& message : request.conversation.messages) {
    O3_CHECK(message.role == "system" || message.role == "user" || message.role == "assistant",
             "a known role");
  }
  O3_CHECK(request.sampling.temperature >= 0 && request.sampling.temperature <= 2, "temperature");
  O3_CHECK(request.sampling.top_p > 0 && request.sampling.top_p <= 1, "top_p");
  O3_CHECK(request.sampling.top_k >= 0, "top_k");
  O3_CHECK(request.max_tokens.value_or(1) >= 1, "max_tokens");
  O3_CHECK(request.n >= 1 && request.n <= 64, "n");
  O3_CHECK(request.logprobs.value_or(0) >= 0 && request.logprobs.value_or(0) <= 20, "logprobs");
  O3_CHECK(request.sampling.bias.size() <= 1024, "logit_bias");
  O3_CHECK(request.stop.size() <= 4, "stop");
  for (const auto& stop : request.stop) O3_CHECK(!stop.empty() && stop.size() <= 512, "a stop");
  O3_CHECK(request.stream || !request.include_usage, "usage chunks belong to streams");
  O3_CHECK(request.unknown.size() <= request.unknown_count, "named fields are counted");
  for (const auto& name : request.unknown) {
    for (const char c : name) O3_CHECK(c > 0x20 && c < 0x7f, "fits a header field");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto request = o3::api::openai::parse_chat_request(body, {});
  const auto strict = o3::api::openai::parse_chat_request(body, {.strict = true});
  if (request.ok()) {
    check_bounds(*request);
    O3_CHECK(strict.ok() == (request->unknown_count == 0), "strict refuses unknown fields only");
    return 0;
  }
  O3_CHECK(!strict.ok(), "strict accepts no more");
  const auto error = o3::api::api_error(request.error());
  O3_CHECK(error.status == 400, "a bad body is the client's fault");
  const auto object = nlohmann::json::parse(o3::api::error_body(error), nullptr, false);
  O3_CHECK(!object.is_discarded() && object["error"].size() == 4, "a whole error object");
  return 0;
}
