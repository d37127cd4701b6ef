// SPDX-License-Identifier: Apache-2.0
// Any tokens, cut into any steps, with any stop strings: a stream's events are whole JSON objects
// whose texts joined are what the choice gives at once. The first byte says how many bytes a step
// has; the text before the first byte FF is a list of stop strings, one a line.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "api/json_text.h"
#include "api/output_chain.h"
#include "api/sse.h"
#include "api/testing/fake_text.h"
#include "base/check.h"
#include "text/unicode/utf8.h"

namespace {

using o3::api::OutputChain;

std::vector<std::string> stop_strings(std::string_view lines) {
  std::vector<std::string> stops;
  while (!lines.empty() && stops.size() < 4) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    // As from a request's JSON: valid UTF-8, not empty.
    const std::string line(lines.substr(0, end));
    if (end > 0 && end <= 512 && o3::text::repaired_utf8(line) == line) stops.push_back(line);
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return stops;
}

std::string text_of_event(const std::string& frame) {
  O3_CHECK(frame.starts_with("data: ") && frame.ends_with("\n\n"), "one event");
  const std::string data = frame.substr(6, frame.size() - 8);
  O3_CHECK(data.find('\n') == std::string::npos, "one line");
  const auto text = nlohmann::json::parse(data, nullptr, false);
  O3_CHECK(text.is_string(), "valid JSON in valid UTF-8");
  return text.get<std::string>();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t step = 1 + data[0] % 16;
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t border = rest.find('\xff');
  std::vector<std::string> stops;
  if (border != std::string_view::npos) {
    stops = stop_strings(rest.substr(0, border));
    rest.remove_prefix(border + 1);
  }
  const auto tokens = o3::api::testing::tokens_of(rest);
  const o3::api::testing::ByteTokenizer tokenizer;

  OutputChain at_once(tokenizer, {.stops = stops});
  std::string whole;
  at_once.push(tokens, whole);
  at_once.finish(whole);

  OutputChain stepwise(tokenizer, {.stops = stops});
  std::string joined;
  const auto emit = [&](const std::string& released) {
    std::string json;
    o3::api::append_json_string(json, released);
    std::string frame;
    o3::api::sse::append_event(frame, json);
    joined += text_of_event(frame);
  };
  for (size_t at = 0; at < tokens.size() && !stepwise.stopped(); at += step) {
    std::string released;
    stepwise.push(std::span(tokens).subspan(at, std::min(step, tokens.size() - at)), released);
    emit(released);
  }
  std::string tail;
  stepwise.finish(tail);
  emit(tail);
  O3_CHECK(joined == whole, "a stream says what the whole answer says");
  O3_CHECK(stepwise.stopped() == at_once.stopped(), "and ends for the same reason");
  O3_CHECK(stepwise.consumed() == at_once.consumed(), "after the same tokens");
  for (const auto& stop : stops) {
    O3_CHECK(whole.find(stop) == std::string::npos, "no stop string is shown");
  }
  return 0;
}
