// SPDX-License-Identifier: Apache-2.0
#include "text/hf/fields.h"

#include "base/printable.h"

namespace o3::text {
namespace {

Error wrong(const JsonValue& json, std::string_view key, const char* what) {
  const std::string_view type = type_of(json);
  std::string message = "tokenizer.json: ";
  if (!type.empty()) message += printable(type) + ": ";
  return invalid(message + "\"" + std::string(key) + "\" must be " + what);
}

}  // namespace

std::string_view type_of(const JsonValue& json) {
  const auto type = json.find("type");
  return type ? type->string().value_or("") : "";
}

Result<bool> bool_field(const JsonValue& json, std::string_view key, bool missing) {
  const auto value = json.find(key);
  if (!value || value->is_null()) return missing;
  const auto flag = value->boolean();
  if (!flag) return wrong(json, key, "true or false");
  return *flag;
}

Result<std::string> string_field(const JsonValue& json, std::string_view key) {
  const auto value = json.find(key);
  const auto text = value ? value->string() : std::nullopt;
  if (!text) return wrong(json, key, "a string");
  return std::string(*text);
}

Result<std::string> text_field(const JsonValue& json, std::string_view key) {
  O3_ASSIGN(std::string text, string_field(json, key));
  if (text.empty()) return wrong(json, key, "a string that is not empty");
  return text;
}

Result<size_t> size_field(const JsonValue& json, std::string_view key, size_t missing) {
  const auto value = json.find(key);
  if (!value || value->is_null()) return missing;
  const auto number = value->integer();
  if (!number || *number < 0 || *number > (1 << 20)) return wrong(json, key, "a small number");
  return static_cast<size_t>(*number);
}

Result<Pattern> pattern_field(const JsonValue& json) {
  const auto pattern = json.find("pattern");
  if (!pattern) return wrong(json, "pattern", "given");
  for (const bool regex : {false, true}) {
    const auto value = pattern->find(regex ? "Regex" : "String");
    const auto text = value ? value->string() : std::nullopt;
    if (text && !text->empty()) return Pattern{std::string(*text), regex};
  }
  return wrong(json, "pattern", "{\"String\": text} or {\"Regex\": text}, not empty");
}

Result<Regex> compile_pattern(const Pattern& pattern) {
  if (pattern.regex) return Regex::compile(pattern.text);
  std::string escaped;
  for (const char c : pattern.text) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      static_cast<uint8_t>(c) >= 0x80;
    if (!word) escaped += '\\';
    escaped += c;
  }
  return Regex::compile(escaped);
}

}  // namespace o3::text
