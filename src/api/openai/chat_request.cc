// SPDX-License-Identifier: Apache-2.0
#include "api/openai/chat_request.h"

#include <algorithm>
#include <array>

#include "api/openai/field.h"

namespace o3::api::openai {
namespace {

std::string below(const std::string& path, std::string_view name) {
  std::string field = path + ".";
  return field.append(name);
}

// Reads the messages; the first error ends it.
class MessageParser {
 public:
  MessageParser(const RequestLimits& limits, ChatRequest& out) : limits_(limits), out_(out) {}

  Result<void> parse(const Json& root) {
    const Json* messages = member(root, "messages");
    if (messages == nullptr) return invalid("messages is missing.", "messages");
    if (!messages->is_array() || messages->empty() || messages->size() > limits_.messages) {
      return invalid(
          "messages must be a list of 1 to " + std::to_string(limits_.messages) + " messages.",
          "messages");
    }
    out_.conversation.messages.reserve(messages->size());
    for (size_t i = 0; i < messages->size(); ++i) {
      O3_TRY(message((*messages)[i], at("messages", i)));
    }
    return {};
  }

 private:
  Result<void> message(const Json& value, const std::string& path);
  Result<void> role(const Json& message, const std::string& path, std::string& out);
  Result<void> message_fields(const Json& message, const std::string& path);
  Result<std::string> content(const Json& value, const std::string& path);
  Result<std::string> part(const Json& value, const std::string& path);

  const RequestLimits& limits_;
  ChatRequest& out_;
};

Result<void> MessageParser::message(const Json& value, const std::string& path) {
  if (!value.is_object()) return invalid(path + " must be an object.", path);
  text::ChatMessage read;
  O3_TRY(role(value, path, read.role));
  O3_TRY(message_fields(value, path));
  const Json* body = member(value, "content");
  if (body == nullptr) return invalid(path + ".content is missing.", path + ".content");
  O3_ASSIGN(read.content, content(*body, path + ".content"));
  out_.conversation.messages.push_back(std::move(read));
  return {};
}

Result<void> MessageParser::role(const Json& message, const std::string& path, std::string& out) {
  const Json* value = member(message, "role");
  if (value == nullptr) return invalid(path + ".role is missing.", path + ".role");
  O3_ASSIGN(out, read_text(*value, path + ".role"));
  if (out == "developer") out = "system";  // the newer name of the same thing
  if (out == "tool" || out == "function") {
    return unsupported(path + ".role \"" + out + "\" is not supported: there are no tools.",
                       path + ".role");
  }
  if (out != "system" && out != "user" && out != "assistant") {
    return invalid(path + ".role must be system, developer, user or assistant.", path + ".role");
  }
  return {};
}

// Clients send back an assistant's message as they got it, with fields that are null or empty.
Result<void> MessageParser::message_fields(const Json& message, const std::string& path) {
  constexpr std::array<std::string_view, 6> kUnsupported{"name",    "tool_calls",    "tool_call_id",
                                                         "refusal", "function_call", "audio"};
  for (const auto& [name, value] : message.items()) {
    if (name == "role" || name == "content" || value.is_null()) continue;
    if (value.is_structured() && value.empty()) continue;
    const std::string field = below(path, name);
    if (std::ranges::find(kUnsupported, name) != kUnsupported.end()) {
      return unsupported(field + " is not supported; leave it out.", field);
    }
    O3_TRY(note_unknown(field, limits_.strict, out_));
  }
  return {};
}

Result<std::string> MessageParser::content(const Json& value, const std::string& path) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array() || value.empty()) {
    return invalid(path + " must be a string or a list of text parts.", path);
  }
  std::string joined;
  for (size_t i = 0; i < value.size(); ++i) {
    O3_ASSIGN(const std::string text, part(value[i], at(path, i)));
    if (i > 0) joined += '\n';
    joined += text;
  }
  return joined;
}

Result<std::string> MessageParser::part(const Json& value, const std::string& path) {
  if (!value.is_object()) return invalid(path + " must be an object.", path);
  const Json* type = member(value, "type");
  if (type == nullptr) return invalid(path + ".type is missing.", path + ".type");
  O3_ASSIGN(const std::string kind, read_text(*type, path + ".type"));
  if (kind != "text") {
    return unsupported(path + ".type must be \"text\": this server takes no other content.",
                       path + ".type");
  }
  for (const auto& [name, ignored] : value.items()) {
    if (name != "type" && name != "text")
      O3_TRY(note_unknown(below(path, name), limits_.strict, out_));
  }
  const Json* text = member(value, "text");
  if (text == nullptr) return invalid(path + ".text is missing.", path + ".text");
  return read_text(*text, path + ".text");
}

// How the template is used.
Result<void> read_template_options(const Json& root, ChatRequest& out) {
  Conversation& conversation = out.conversation;
  if (const Json* value = member(root, "continue_final_message")) {
    O3_ASSIGN(out.continue_final, read_flag(*value, "continue_final_message"));
  }
  const Json* prompt = member(root, "add_generation_prompt");
  if (prompt != nullptr) {
    O3_ASSIGN(conversation.add_generation_prompt, read_flag(*prompt, "add_generation_prompt"));
  } else {
    conversation.add_generation_prompt = !out.continue_final;
  }
  if (out.continue_final && conversation.add_generation_prompt) {
    return invalid(
        "continue_final_message needs add_generation_prompt: false: the last message goes on, or "
        "another one begins.",
        "continue_final_message");
  }
  if (const Json* value = member(root, "add_special_tokens")) {
    O3_ASSIGN(out.add_special_tokens, read_flag(*value, "add_special_tokens"));
  }
  if (const Json* value = member(root, "chat_template_kwargs")) {
    if (!value->is_object()) {
      return invalid("chat_template_kwargs must be an object.", "chat_template_kwargs");
    }
    if (value->contains("messages") || value->contains("add_generation_prompt")) {
      return invalid("chat_template_kwargs cannot set messages or add_generation_prompt.",
                     "chat_template_kwargs");
    }
    conversation.arguments = *value;
  }
  return {};
}

}  // namespace

Result<void> parse_conversation(const Json& root, const RequestLimits& limits, ChatRequest& out) {
  O3_TRY(MessageParser(limits, out).parse(root));
  return read_template_options(root, out);
}

Result<ChatRequest> parse_chat_request(std::string_view body, const RequestLimits& limits) {
  O3_ASSIGN(const Json root, read_body(body, limits));
  ChatRequest request;
  O3_TRY(parse_generation_options(root, Endpoint::kChat, limits, request));
  O3_TRY(parse_conversation(root, limits, request));
  if (const Json* value = member(root, "echo")) {
    O3_ASSIGN(request.echo, read_flag(*value, "echo"));
  }
  return request;
}

}  // namespace o3::api::openai
