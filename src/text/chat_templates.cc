// SPDX-License-Identifier: Apache-2.0
#include "text/chat_templates.h"

#include <utility>

namespace o3::text {

Result<ChatTemplates> ChatTemplates::parse(std::string_view main,
                                           const std::optional<std::string>& tool_use) {
  O3_ASSIGN(ChatTemplate parsed, ChatTemplate::parse(main));
  ChatTemplates templates(std::move(parsed));
  if (tool_use) {
    auto other = ChatTemplate::parse(*tool_use);
    if (!other.ok()) {
      Error error = std::move(other).error();
      error.message = "the template \"tool_use\": " + error.message;
      other = std::move(error);
    }
    templates.tool_use_ = std::move(other);
  }
  return templates;
}

Result<std::vector<Segment>> ChatTemplates::render(const RenderInput& input,
                                                   const RenderLimits& limits) const {
  const auto tools = input.request.find("tools");
  const bool given = tools != input.request.end() && !tools->is_null();
  if (!given || !tool_use_) return main_.render(input, limits);
  if (!tool_use_->ok()) return tool_use_->error();
  return (*tool_use_)->render(input, limits);
}

}  // namespace o3::text
