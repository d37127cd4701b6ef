// SPDX-License-Identifier: Apache-2.0
#include "api/openai/chat_request.h"

#include <algorithm>
#include <array>

#include "api/openai/field.h"
#include "api/openai/field_table.h"

namespace o3::api::openai {
namespace {

constexpr size_t kMaxStops = 4;
constexpr size_t kNamedUnknown = 8;

std::string at(const std::string& path, size_t index) {
  return path + "[" + std::to_string(index) + "]";
}

std::string below(const std::string& path, std::string_view name) {
  std::string field = path + ".";
  return field.append(name);
}

// Reads one request; the first error ends it.
class ChatParser {
 public:
  explicit ChatParser(const ChatLimits& limits) : limits_(limits) {}

  Result<ChatRequest> parse(const Json& root) {
    O3_TRY(fields(root));
    O3_TRY(required(root));
    O3_TRY(sampling(root));
    O3_TRY(lengths(root));
    O3_TRY(stops(root));
    O3_TRY(format(root));
    O3_TRY(streaming(root));
    return std::move(out_);
  }

 private:
  // chat_request.cc: the request's own fields.
  Result<void> fields(const Json& root);
  Result<void> required(const Json& root);
  Result<void> sampling(const Json& root);
  Result<void> lengths(const Json& root);
  Result<void> stops(const Json& root);
  Result<void> format(const Json& root);
  Result<void> streaming(const Json& root);
  Result<void> stop(const Json& value, const std::string& path);
  Result<void> unknown(const std::string& path);

  // Messages.
  Result<void> message(const Json& value, const std::string& path);
  Result<void> role(const Json& message, const std::string& path, std::string& out);
  Result<void> message_fields(const Json& message, const std::string& path);
  Result<std::string> content(const Json& value, const std::string& path);
  Result<std::string> part(const Json& value, const std::string& path);

  const ChatLimits& limits_;
  ChatRequest out_;
};

Result<void> ChatParser::unknown(const std::string& path) {
  // The name goes into a header field and a message: printable ASCII only, and not much of it.
  std::string name;
  for (const char c : path.substr(0, 64)) name += c > 0x20 && c < 0x7f && c != ',' ? c : '?';
  if (limits_.strict) {
    return unsupported("There is no field " + name + " (this server refuses unknown fields).",
                       name);
  }
  ++out_.unknown_count;
  if (out_.unknown.size() < kNamedUnknown) out_.unknown.push_back(std::move(name));
  return {};
}

Result<void> ChatParser::fields(const Json& root) {
  if (!root.is_object()) {
    return invalid("The body must be a JSON object, not " + std::string(root.type_name()) + ".");
  }
  for (const auto& [name, value] : root.items()) {
    switch (treatment(name)) {
      case Treatment::kHonoured:
      case Treatment::kIgnored:
        break;
      case Treatment::kUnsupported:
        O3_TRY(check_unsupported(name, value));
        break;
      case Treatment::kUnknown:
        O3_TRY(unknown(name));
        break;
    }
  }
  return {};
}

Result<void> ChatParser::required(const Json& root) {
  const Json* model = member(root, "model");
  if (model == nullptr) return invalid("model is missing.", "model");
  O3_ASSIGN(out_.model, read_text(*model, "model"));
  const Json* messages = member(root, "messages");
  if (messages == nullptr) return invalid("messages is missing.", "messages");
  if (!messages->is_array() || messages->empty() || messages->size() > limits_.messages) {
    return invalid(
        "messages must be a list of 1 to " + std::to_string(limits_.messages) + " messages.",
        "messages");
  }
  out_.messages.reserve(messages->size());
  for (size_t i = 0; i < messages->size(); ++i) {
    O3_TRY(message((*messages)[i], at("messages", i)));
  }
  return {};
}

Result<void> ChatParser::message(const Json& value, const std::string& path) {
  if (!value.is_object()) return invalid(path + " must be an object.", path);
  text::ChatMessage read;
  O3_TRY(role(value, path, read.role));
  O3_TRY(message_fields(value, path));
  const Json* body = member(value, "content");
  if (body == nullptr) return invalid(path + ".content is missing.", path + ".content");
  O3_ASSIGN(read.content, content(*body, path + ".content"));
  out_.messages.push_back(std::move(read));
  return {};
}

Result<void> ChatParser::role(const Json& message, const std::string& path, std::string& out) {
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
Result<void> ChatParser::message_fields(const Json& message, const std::string& path) {
  constexpr std::array<std::string_view, 6> kUnsupported{"name",    "tool_calls",    "tool_call_id",
                                                         "refusal", "function_call", "audio"};
  for (const auto& [name, value] : message.items()) {
    if (name == "role" || name == "content" || value.is_null()) continue;
    if (value.is_structured() && value.empty()) continue;
    const std::string field = below(path, name);
    if (std::ranges::find(kUnsupported, name) != kUnsupported.end()) {
      return unsupported(field + " is not supported; leave it out.", field);
    }
    O3_TRY(unknown(field));
  }
  return {};
}

Result<std::string> ChatParser::content(const Json& value, const std::string& path) {
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

Result<std::string> ChatParser::part(const Json& value, const std::string& path) {
  if (!value.is_object()) return invalid(path + " must be an object.", path);
  const Json* type = member(value, "type");
  if (type == nullptr) return invalid(path + ".type is missing.", path + ".type");
  O3_ASSIGN(const std::string kind, read_text(*type, path + ".type"));
  if (kind != "text") {
    return unsupported(path + ".type must be \"text\": this server takes no other content.",
                       path + ".type");
  }
  for (const auto& [name, ignored] : value.items()) {
    if (name != "type" && name != "text") O3_TRY(unknown(below(path, name)));
  }
  const Json* text = member(value, "text");
  if (text == nullptr) return invalid(path + ".text is missing.", path + ".text");
  return read_text(*text, path + ".text");
}

Result<void> ChatParser::sampling(const Json& root) {
  if (const Json* value = member(root, "temperature")) {
    O3_ASSIGN(const double read, read_real(*value, "temperature", 0, 2));
    out_.temperature = static_cast<float>(read);
  }
  if (const Json* value = member(root, "top_p")) {
    O3_ASSIGN(const double read, read_real(*value, "top_p", 0, 1, true));
    // A tiny value must not round to 0, which would allow no token at all.
    out_.top_p = std::max(static_cast<float>(read), 1e-6F);
  }
  if (const Json* value = member(root, "top_k")) {
    O3_ASSIGN(const int64_t read, read_integer(*value, "top_k", -1, INT32_MAX));
    out_.top_k = static_cast<int32_t>(std::max<int64_t>(read, 0));  // -1: off, as elsewhere
  }
  if (const Json* value = member(root, "seed")) {
    O3_ASSIGN(const int64_t read, read_integer(*value, "seed", INT64_MIN, INT64_MAX));
    out_.seed = static_cast<uint64_t>(read);
  }
  return {};
}

Result<void> ChatParser::lengths(const Json& root) {
  for (const char* name : {"max_tokens", "max_completion_tokens"}) {
    const Json* value = member(root, name);
    if (value == nullptr) continue;
    O3_ASSIGN(const int64_t read, read_integer(*value, name, 1, INT32_MAX));
    out_.max_tokens = static_cast<int32_t>(read);
    out_.max_tokens_field = name;
  }
  return {};
}

Result<void> ChatParser::stop(const Json& value, const std::string& path) {
  O3_ASSIGN(std::string text, read_text(value, path));
  if (text.empty() || text.size() > limits_.stop_bytes) {
    return invalid(path + " must have 1 to " + std::to_string(limits_.stop_bytes) + " bytes.",
                   path);
  }
  out_.stop.push_back(std::move(text));
  return {};
}

Result<void> ChatParser::stops(const Json& root) {
  if (const Json* value = member(root, "ignore_eos")) {
    O3_ASSIGN(out_.ignore_eos, read_flag(*value, "ignore_eos"));
  }
  const Json* value = member(root, "stop");
  if (value == nullptr) return {};
  if (!value->is_array()) return stop(*value, "stop");
  if (value->size() > kMaxStops) return invalid("stop takes at most 4 strings.", "stop");
  for (size_t i = 0; i < value->size(); ++i) O3_TRY(stop((*value)[i], at("stop", i)));
  return {};
}

Result<void> ChatParser::format(const Json& root) {
  const Json* value = member(root, "response_format");
  if (value == nullptr) return {};
  const Json* type = value->is_object() ? member(*value, "type") : nullptr;
  if (type == nullptr) {
    return invalid("response_format must be {\"type\": \"text\"} or {\"type\": \"json_object\"}.",
                   "response_format");
  }
  O3_ASSIGN(const std::string name, read_text(*type, "response_format.type"));
  if (name != "text" && name != "json_object") {
    return unsupported("response_format.type must be text or json_object.", "response_format.type");
  }
  if (value->size() > 1) {
    return unsupported("response_format takes nothing beside type.", "response_format");
  }
  if (name == "json_object") out_.format = AnswerFormat::kJsonObject;
  if (name == "json_object" && out_.ignore_eos) {
    return invalid("ignore_eos cannot go with response_format json_object: nothing follows JSON.",
                   "ignore_eos");
  }
  if (name == "json_object" && !out_.stop.empty()) {
    return invalid("stop cannot go with response_format json_object: JSON that is cut is not JSON.",
                   "stop");
  }
  return {};
}

Result<void> ChatParser::streaming(const Json& root) {
  if (const Json* value = member(root, "stream")) {
    O3_ASSIGN(out_.stream, read_flag(*value, "stream"));
  }
  const Json* options = member(root, "stream_options");
  if (options == nullptr) return {};
  if (!out_.stream) {
    return invalid("stream_options is only allowed with stream: true.", "stream_options");
  }
  if (!options->is_object()) {
    return invalid("stream_options must be an object.", "stream_options");
  }
  for (const auto& [name, value] : options->items()) {
    const std::string path = "stream_options." + name;
    if (value.is_null()) continue;
    if (name == "include_usage") {
      O3_ASSIGN(out_.include_usage, read_flag(value, path));
    } else if (name != "include_obfuscation" || value != false) {
      O3_TRY(unknown(path));
    }
  }
  return {};
}

}  // namespace

Result<ChatRequest> parse_chat_request(std::string_view body, const ChatLimits& limits) {
  auto root = config::read_json(body, limits.json);
  if (!root.ok()) {
    // Whatever bound the text broke, it is the text that is wrong (kTooLong means the context).
    const std::string& place = root.error().param;
    return invalid("The body cannot be read: " + root.error().message +
                       (place.empty() ? "" : " At " + place + "."),
                   place);
  }
  return ChatParser(limits).parse(*root);
}

}  // namespace o3::api::openai
