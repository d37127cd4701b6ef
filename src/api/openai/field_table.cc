// SPDX-License-Identifier: Apache-2.0
#include "api/openai/field_table.h"

#include <algorithm>
#include <array>
#include <string>

namespace o3::api::openai {
namespace {

using nlohmann::json;

// Values of an unsupported field that ask for what the server does anyway. null always does.
enum class Harmless : uint8_t { kNone, kFalse, kTrue, kZero, kOne, kEmpty, kText, kNoTool };

constexpr uint8_t kChat = static_cast<uint8_t>(Endpoint::kChat);
constexpr uint8_t kCompletions = static_cast<uint8_t>(Endpoint::kCompletions);
constexpr uint8_t kBoth = kChat | kCompletions;

struct Row {
  std::string_view name;
  uint8_t endpoints;  // that know the field; for another one it is unsupported
  Treatment treatment;
  std::string_view schema = "{}";  // JSON; of what is unsupported: none
  Harmless harmless = Harmless::kNone;
};

constexpr std::string_view kFlag = R"({"type":"boolean"})";
constexpr std::string_view kString = R"({"type":"string"})";
constexpr std::string_view kTexts = R"({"type":"object","additionalProperties":{"type":"string"}})";
constexpr std::string_view kArguments =
    R"({"type":"object","additionalProperties":)"
    R"({"oneOf":[{"type":"boolean"},{"type":"number"},{"type":"string"}]}})";
constexpr std::string_view kShare =
    R"({"type":"number","minimum":0,"exclusiveMinimum":true,"maximum":1})";
constexpr std::string_view kPenalty = R"({"type":"number","minimum":-2,"maximum":2})";
constexpr std::string_view kFactor = R"({"type":"number","minimum":0.01,"maximum":100})";
constexpr std::string_view kCount = R"({"type":"integer","minimum":1,"maximum":2147483647})";
constexpr std::string_view kChoices = R"({"type":"integer","minimum":1,"maximum":64})";
constexpr std::string_view kTop = R"({"type":"integer","minimum":0,"maximum":20})";

constexpr Row honoured(std::string_view name, uint8_t endpoints, std::string_view schema) {
  return {name, endpoints, Treatment::kHonoured, schema};
}
constexpr Row ignored(std::string_view name, std::string_view schema) {
  return {name, kBoth, Treatment::kIgnored, schema};
}
constexpr Row refused(std::string_view name, Harmless harmless = Harmless::kNone) {
  return {name, kBoth, Treatment::kUnsupported, "{}", harmless};
}

constexpr std::array kRows{
    honoured("model", kBoth, kString),
    honoured("messages", kChat,
             R"({"type":"array","minItems":1,"items":{"$ref":"#/components/schemas/Message"}})"),
    honoured("prompt", kCompletions, R"({"$ref":"#/components/schemas/Prompt"})"),
    honoured("suffix", kCompletions, kString),
    honoured("echo", kBoth, kFlag),
    honoured("stream", kBoth, kFlag),
    honoured("stream_options", kBoth,
             R"({"type":"object","properties":{"include_usage":{"type":"boolean"},)"
             R"("continuous_usage_stats":{"type":"boolean"}}})"),
    honoured("max_tokens", kBoth, kCount),
    honoured("max_completion_tokens", kChat, kCount),
    honoured("min_tokens", kBoth, R"({"type":"integer","minimum":0,"maximum":2147483647})"),
    honoured("n", kBoth, kChoices),
    honoured("best_of", kCompletions, kChoices),
    honoured("temperature", kBoth, R"({"type":"number","minimum":0,"maximum":2})"),
    honoured("top_p", kBoth, kShare),
    honoured("top_k", kBoth, R"({"type":"integer","minimum":-1,"maximum":2147483647})"),
    honoured("min_p", kBoth, R"({"type":"number","minimum":0,"maximum":1})"),
    honoured("typical_p", kBoth, kShare),
    honoured("repetition_penalty", kBoth, kFactor),
    honoured("repeat_penalty", kBoth, kFactor),
    honoured("presence_penalty", kBoth, kPenalty),
    honoured("frequency_penalty", kBoth, kPenalty),
    honoured("logit_bias", kBoth,
             R"({"type":"object","additionalProperties":)"
             R"({"type":"number","minimum":-100,"maximum":100}})"),
    honoured("logprobs", kChat, kFlag),
    honoured("logprobs", kCompletions, kTop),
    honoured("top_logprobs", kChat, kTop),
    honoured("prompt_logprobs", kBoth, kTop),
    honoured("seed", kBoth, R"({"type":"integer"})"),
    honoured("stop", kBoth,
             R"({"oneOf":[{"type":"string"},{"type":"array","maxItems":4,)"
             R"("items":{"type":"string"}}]})"),
    honoured("stop_token_ids", kBoth,
             R"({"type":"array","maxItems":128,"items":{"type":"integer","minimum":0}})"),
    honoured("bad_words", kBoth, R"({"type":"array","maxItems":64,"items":{"type":"string"}})"),
    honoured("include_stop_str_in_output", kBoth, kFlag),
    honoured("ignore_eos", kBoth, kFlag),
    honoured("skip_special_tokens", kBoth, kFlag),
    honoured("cache_prompt", kBoth, kFlag),
    honoured("cache_salt", kBoth, R"({"type":"string","minLength":1,"maxLength":256})"),
    honoured("response_format", kBoth,
             R"({"type":"object","required":["type"],"properties":{"type":)"
             R"({"type":"string","enum":["text","json_object"]}}})"),
    honoured("add_special_tokens", kBoth, kFlag),
    honoured("add_generation_prompt", kChat, kFlag),
    honoured("continue_final_message", kChat, kFlag),
    honoured("chat_template_kwargs", kChat, kArguments),

    ignored("user", kString),
    ignored("metadata", kTexts),
    ignored("service_tier", kString),
    ignored("safety_identifier", kString),
    ignored("prompt_cache_key", kString),
    ignored("request_id", kString),
    ignored("spaces_between_special_tokens", kFlag),

    refused("store", Harmless::kFalse),
    refused("tools"),
    refused("tool_choice", Harmless::kNoTool),
    refused("parallel_tool_calls", Harmless::kFalse),
    refused("functions"),
    refused("function_call"),
    refused("modalities", Harmless::kText),
    refused("audio"),
    refused("prediction"),
    refused("reasoning_effort"),
    refused("verbosity"),
    refused("web_search_options"),
    refused("chat_template"),
    refused("documents", Harmless::kEmpty),
    refused("truncate_prompt_tokens"),
    refused("allowed_token_ids", Harmless::kEmpty),
    refused("logits_processors", Harmless::kEmpty),
    refused("length_penalty", Harmless::kOne),
    refused("return_token_ids", Harmless::kFalse),
    refused("return_tokens_as_token_ids", Harmless::kFalse),
    refused("grammar"),
    refused("json_schema"),
    refused("structured_outputs"),
    refused("guided_json"),
    refused("guided_regex"),
    refused("guided_choice"),
    refused("guided_grammar"),
    refused("use_beam_search", Harmless::kFalse),
    refused("previous_response_id"),
    refused("priority", Harmless::kZero),
};

const Row* find(Endpoint endpoint, std::string_view field) noexcept {
  const Row* other = nullptr;
  for (const Row& row : kRows) {
    if (row.name != field) continue;
    if ((row.endpoints & static_cast<uint8_t>(endpoint)) != 0) return &row;
    other = &row;
  }
  return other;
}

bool known(Endpoint endpoint, const Row& row) noexcept {
  return (row.endpoints & static_cast<uint8_t>(endpoint)) != 0;
}

json harmless_value(Harmless harmless) {
  switch (harmless) {
    case Harmless::kFalse:
      return false;
    case Harmless::kTrue:
      return true;
    case Harmless::kZero:
      return 0;
    case Harmless::kOne:
      return 1;
    case Harmless::kText:
      return json::array({"text"});
    case Harmless::kNoTool:
      return "none";
    default:
      return nullptr;
  }
}

bool asks_nothing(Harmless harmless, const json& value) {
  if (value.is_null()) return true;
  if (harmless == Harmless::kNone) return false;
  if (harmless == Harmless::kEmpty) return value.is_structured() && value.empty();
  return value == harmless_value(harmless);  // numbers compare by value: 0 equals 0.0
}

}  // namespace

Treatment treatment(Endpoint endpoint, std::string_view field) noexcept {
  const Row* row = find(endpoint, field);
  if (row == nullptr) return Treatment::kUnknown;
  return known(endpoint, *row) ? row->treatment : Treatment::kUnsupported;
}

Result<void> check_unsupported(Endpoint endpoint, std::string_view field, const json& value) {
  const Row* row = find(endpoint, field);
  O3_CHECK(row != nullptr && treatment(endpoint, field) == Treatment::kUnsupported,
           "not such a field");
  if (asks_nothing(row->harmless, value)) return {};
  const std::string name(field);
  if (!known(endpoint, *row)) {
    return unsupported(name + " is not a field of this endpoint; leave it out.", name);
  }
  if (row->harmless == Harmless::kNone) {
    return unsupported(name + " is not supported; leave it out.", name);
  }
  const std::string only =
      row->harmless == Harmless::kEmpty ? "empty" : harmless_value(row->harmless).dump();
  return unsupported(name + " is supported only as " + only + "; leave it out.", name);
}

nlohmann::ordered_json field_schemas(Endpoint endpoint) {
  auto schemas = nlohmann::ordered_json::object();
  for (const Row& row : kRows) {
    if (!known(endpoint, row) || row.treatment == Treatment::kUnsupported) continue;
    schemas[std::string(row.name)] = nlohmann::ordered_json::parse(row.schema);
  }
  return schemas;
}

}  // namespace o3::api::openai
