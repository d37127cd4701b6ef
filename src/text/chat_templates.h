// SPDX-License-Identifier: Apache-2.0
// The templates that one model names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/chat_template.h"

namespace o3::text {

// Immutable; render() may run on many threads.
class ChatTemplates {
 public:
  // `tool_use` is the model's template of that name, if it has one. Errors are those of `main`; one
  // in `tool_use` is told to whoever needs it.
  static Result<ChatTemplates> parse(std::string_view main,
                                     const std::optional<std::string>& tool_use);

  // As transformers' apply_chat_template chooses: `tool_use` where the request has tools (a list
  // without any is some), else `main`.
  Result<std::vector<Segment>> render(const RenderInput& input,
                                      const RenderLimits& limits = {}) const;

 private:
  explicit ChatTemplates(ChatTemplate main) : main_(std::move(main)) {}

  ChatTemplate main_;
  std::optional<Result<ChatTemplate>> tool_use_;
};

}  // namespace o3::text
