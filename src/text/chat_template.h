// SPDX-License-Identifier: Apache-2.0
// Chat templates: the Jinja subset that models ship, rendered with the origin of every character.
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
};

struct RenderInput {
  std::vector<ChatMessage> messages;
  bool add_generation_prompt = true;
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();  // bos_token, eos_token, ...
};

struct RenderLimits {
  size_t output_bytes = 4u << 20;
  int depth = 128;             // nested expressions, blocks and calls
  uint64_t steps = 4'000'000;  // evaluated nodes
};

// Immutable after parse; render() may run on many threads.
class ChatTemplate {
 public:
  // kUnsupported names the construct that this subset lacks, with its line.
  static Result<ChatTemplate> parse(std::string_view source);

  // Segments in order, neighbours of different origin. Characters that came from messages (role or
  // content, through filters, slices and concatenation) are untrusted; everything else is trusted.
  // raise_exception() in the template gives kInvalid with its message.
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
