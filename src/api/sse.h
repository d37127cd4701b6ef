// SPDX-License-Identifier: Apache-2.0
// Server-sent events as OpenAI's clients read them: data lines and comments only. An id: or retry:
// line alone would make an empty event, on which those clients fail.
#pragma once

#include <string>
#include <string_view>

#include "api/http/message.h"

namespace o3::api::sse {

inline constexpr std::string_view kDone = "data: [DONE]\n\n";
inline constexpr std::string_view kPing = ": ping\n\n";  // a comment keeps proxies from giving up

// One event. JSON text holds no line break, so it is one data line.
inline void append_event(std::string& out, std::string_view json) {
  out.append("data: ").append(json).append("\n\n");
}

inline http::Response stream_head() {
  return {.status = 200,
          .content_type = "text/event-stream; charset=utf-8",
          .body = {},
          .fields = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}}};
}

}  // namespace o3::api::sse
