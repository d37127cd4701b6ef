// SPDX-License-Identifier: Apache-2.0
#include "text/chat_template.h"

#include <utility>

#include "text/jinja/from_json.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/parser.h"

namespace o3::text {
namespace {

using jinja::Origin;
using jinja::RenderState;
using jinja::Value;

// {"role": ..., "content": ..., further members}
Result<Value> message_value(RenderState& state, const ChatMessage& message, bool trust_assistant) {
  O3_TRY(state.charge(8 + message.content.size() / 16 + message.role.size() / 16));
  O3_ASSIGN(const Value fields, jinja::from_json(state, message.fields, Origin::kContent));
  if (!fields.is_none() && !fields.is_dict()) {
    return invalid("the further members of a message must be an object", "messages");
  }
  const bool trusted = trust_assistant && message.role == "assistant";
  const Origin origin = trusted ? Origin::kTemplate : Origin::kContent;
  std::vector<std::pair<Value, Value>> members;
  members.emplace_back(jinja::from_text("role", Origin::kContent),
                       jinja::from_text(message.role, Origin::kContent));
  members.emplace_back(jinja::from_text("content", Origin::kContent),
                       jinja::from_text(message.content, origin));
  if (fields.is_dict()) {
    for (const auto& [key, value] : fields.as_dict().items) {
      const std::string_view name = key.as_string().view();
      if (name == "role") return invalid("a message has two roles", "messages");
      if (name == "content") {
        O3_ASSIGN(members[1].second, jinja::from_json(state, message.fields["content"], origin));
      } else {
        members.emplace_back(key, value);
      }
    }
  }
  return jinja::make_dict(std::move(members));
}

Result<Value> messages_value(RenderState& state, const RenderInput& input) {
  if (input.raw_messages) return jinja::from_json(state, *input.raw_messages, Origin::kContent);
  std::vector<Value> items;
  items.reserve(input.messages.size());
  for (const ChatMessage& message : input.messages) {
    O3_ASSIGN(Value value, message_value(state, message, input.trust_assistant));
    items.push_back(std::move(value));
  }
  return jinja::make_sequence(jinja::Sequence::Flavour::kList, std::move(items));
}

Result<void> define_all(RenderState& state, jinja::Interpreter& interpreter,
                        const nlohmann::ordered_json& variables, Origin origin) {
  if (variables.is_null()) return {};
  if (!variables.is_object()) return invalid("template variables must be an object");
  for (const auto& [name, json] : variables.items()) {
    O3_ASSIGN(Value value, jinja::from_json(state, json, origin));
    interpreter.define(name, std::move(value));
  }
  return {};
}

std::vector<Segment> segments_of(const jinja::TaintedString& text) {
  std::vector<Segment> segments;
  text.for_each_run([&](std::string_view run, Origin origin) {
    segments.push_back({std::string(run), origin == Origin::kTemplate});
  });
  return segments;
}

}  // namespace

struct ChatTemplate::Impl {
  jinja::Block block;
};

ChatTemplate::ChatTemplate(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

Result<ChatTemplate> ChatTemplate::parse(std::string_view source) {
  auto impl = std::make_unique<Impl>();
  O3_ASSIGN(impl->block, jinja::parse(source));
  return ChatTemplate(std::move(impl));
}

Result<std::vector<Segment>> ChatTemplate::render(const RenderInput& input,
                                                  const RenderLimits& limits) const {
  RenderState state(limits.steps, input.local_time);
  jinja::Interpreter interpreter(state, {limits.output_bytes, limits.depth});
  interpreter.define("tools", Value());
  interpreter.define("documents", Value());
  // The operator's names win, so that a client cannot replace bos_token.
  O3_TRY(define_all(state, interpreter, input.request, Origin::kContent));
  O3_TRY(define_all(state, interpreter, input.variables, Origin::kTemplate));
  O3_ASSIGN(Value messages, messages_value(state, input));
  interpreter.define("messages", std::move(messages));
  interpreter.define("add_generation_prompt", Value(input.add_generation_prompt));
  O3_ASSIGN(const jinja::TaintedString text, interpreter.run(impl_->block));
  return segments_of(text);
}

}  // namespace o3::text
