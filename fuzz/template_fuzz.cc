// SPDX-License-Identifier: Apache-2.0
// Any template over any messages: no input crashes or runs long, and what a message wrote is never
// trusted. The first byte says which part of the rest is the template (n/255); bytes FF divide the
// other part into messages.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "text/chat_template.h"
#include "text/unicode/utf8.h"

namespace {

using o3::text::ChatTemplate;
using o3::text::RenderInput;

// A private-use character in every message; only a template that spells it can make it trusted, or
// one that makes characters of numbers.
constexpr std::string_view kMarker = "\xEE\x80\x80";

// %5c and its like; also where the parts of such a format are put together.
bool has_percent_c(std::string_view source) {
  for (size_t at = source.find('%'); at != std::string_view::npos; at = source.find('%', at + 1)) {
    const size_t end = source.find_first_not_of("-+ #0123456789.*hlL'\"~(){}", at + 1);
    if (end != std::string_view::npos && source[end] == 'c') return true;
  }
  return false;
}

bool spells_marker(std::string source) {
  if (source.find(kMarker) != std::string::npos) return true;
  std::transform(source.begin(), source.end(), source.begin(),
                 [](char c) { return static_cast<char>(c == 'E' ? 'e' : c); });
  return source.find("e000") != std::string::npos || source.find("c}") != std::string::npos ||
         has_percent_c(source);
}

RenderInput input_of(std::string_view text) {
  RenderInput input;
  bool user = true;
  while (true) {
    const size_t end = std::min(text.find('\xFF'), text.size());
    o3::text::ChatMessage message{.role = user ? "user" : "assistant"};
    message.content = std::string(text.substr(0, end));
    message.content.insert(o3::text::repaired_utf8(message.content) == message.content ? 0 : end,
                           kMarker);
    message.content += kMarker;
    message.fields = {{"name", message.content},
                      {"calls", {{{"id", message.content}, {"n", 1.5}}}},
                      {"children", {{{"children", nlohmann::ordered_json::array()}}}},
                      {"big", nlohmann::ordered_json::binary({'1', '0', '0', '0', '0', '0', '0',
                                                              '0', '0', '0', '0', '0', '0', '0',
                                                              '0', '0', '0', '0', '0', '0'})}};
    input.messages.push_back(std::move(message));
    if (end == text.size()) break;
    text.remove_prefix(end + 1);
    user = !user;
  }
  input.variables = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
  input.request = {{"tools", {{{"name", std::string(kMarker)}, {"list", {1, nullptr, true}}}}}};
  return input;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string_view source = rest.substr(0, rest.size() * data[0] / 255);
  const auto parsed = ChatTemplate::parse(source);
  if (!parsed.ok()) {
    O3_CHECK(!parsed.error().message.empty(), "a refusal has a reason");
    return 0;
  }
  const auto segments = parsed->render(input_of(rest.substr(source.size())),
                                       {.output_bytes = 1 << 16, .steps = 100'000});
  if (!segments.ok()) return 0;
  const bool may_trust_marker = spells_marker(std::string(source));
  const o3::text::Segment* before = nullptr;
  for (const o3::text::Segment& segment : *segments) {
    O3_CHECK(!segment.text.empty(), "no empty segments");
    O3_CHECK(o3::text::is_utf8(segment.text), "segments end at character borders");
    O3_CHECK(before == nullptr || before->trusted != segment.trusted, "neighbours differ");
    O3_CHECK(
        may_trust_marker || !segment.trusted || segment.text.find(kMarker) == std::string::npos,
        "what a message wrote is never trusted");
    before = &segment;
  }
  return 0;
}
