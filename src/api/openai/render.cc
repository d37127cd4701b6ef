// SPDX-License-Identifier: Apache-2.0
#include "api/openai/render.h"

#include "api/json_text.h"

namespace o3::api::openai {

std::string render_heading(const AnswerHeading& heading, std::string_view object) {
  std::string out = "{\"id\":";
  append_json_string(out, heading.id);
  out += ",\"object\":";
  append_json_string(out, object);
  out += ",\"created\":" + std::to_string(heading.created) + ",\"model\":";
  append_json_string(out, heading.model);
  if (!heading.fingerprint.empty()) {
    out += ",\"system_fingerprint\":";
    append_json_string(out, heading.fingerprint);
  }
  return out;
}

std::string render_usage(const Usage& usage) {
  const int64_t total = int64_t{usage.prompt_tokens} + usage.completion_tokens;
  return "{\"prompt_tokens\":" + std::to_string(usage.prompt_tokens) +
         ",\"completion_tokens\":" + std::to_string(usage.completion_tokens) +
         ",\"total_tokens\":" + std::to_string(total) +
         ",\"prompt_tokens_details\":{\"cached_tokens\":0}}";
}

std::string_view reason_name(FinishReason reason) noexcept {
  return reason == FinishReason::kLength ? "length" : "stop";
}

}  // namespace o3::api::openai
