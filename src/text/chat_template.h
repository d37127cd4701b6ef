// SPDX-License-Identifier: Apache-2.0
// Chat templates: the Jinja that models ship, rendered with the origin of every character.
// Semantics are those of jinja2 3.1 with Hugging Face's settings (sandboxed and immutable,
// trim_blocks, lstrip_blocks, loop controls, tojson as json.dumps, raise_exception, strftime_now,
// the generation tag). Numbers beyond 64 bits come as jinja/json_input.h reads them. Docs:
// https://jinja.palletsprojects.com/en/3.1.x/templates/
#pragma once

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer.h"

namespace o3::text {

struct ChatMessage {
  std::string role;
  std::string content;
  // Further members (name, tool_calls, ...) as an object, in the client's order; null: none. A
  // member "content" here stands instead of `content` (null, or a list of parts).
  nlohmann::ordered_json fields = nullptr;
};

struct RenderInput {
  std::vector<ChatMessage> messages;
  // Stands instead of `messages` when given: what the template finds under that name, of any shape.
  std::optional<nlohmann::ordered_json> raw_messages = std::nullopt;
  bool add_generation_prompt = true;
  // The content of messages whose role is "assistant" counts as trusted, as if the model had just
  // written it. Whoever sends the conversation can then write control tokens there.
  bool trust_assistant = false;
  // Set by the operator or the model file, and trusted: bos_token, eos_token, ...
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();
  // Set by the client, and never trusted: tools, documents, template arguments, ... `tools` and
  // `documents` are none when absent, as Hugging Face has it.
  nlohmann::ordered_json request = nlohmann::ordered_json::object();
  // What strftime_now() shows: local time, as seconds since 1970-01-01 00:00 local time.
  std::chrono::seconds local_time{0};
};

struct RenderLimits {
  size_t output_bytes = 4u << 20;
  int depth = 200;             // nested expressions, blocks and calls; some 3 KB of stack each
  uint64_t steps = 4'000'000;  // evaluated nodes, and 16 bytes copied count as one
};

// Immutable after parse; render() may run on many threads.
class ChatTemplate {
 public:
  // kUnsupported names the construct that this subset lacks, with its line; kInvalid is an error of
  // the template's author.
  static Result<ChatTemplate> parse(std::string_view source);

  // Segments in order, neighbours of different origin. Characters that came from messages or
  // request (role or content, through filters, slices and concatenation) are untrusted; everything
  // else is trusted (see trust_assistant for the one exception). Ill-formed UTF-8 in the input
  // becomes U+FFFD. raise_exception() in the template gives kInvalid with its message and param
  // "messages"; limits give kTooLong.
  Result<std::vector<Segment>> render(const RenderInput& input,
                                      const RenderLimits& limits = {}) const;

  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;

 private:
  struct Impl;
  explicit ChatTemplate(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace o3::text
