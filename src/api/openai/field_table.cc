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

struct Row {
  std::string_view name;
  Treatment treatment;
  Harmless harmless = Harmless::kNone;
};

constexpr std::array kRows{
    Row{"model", Treatment::kHonoured},
    Row{"messages", Treatment::kHonoured},
    Row{"stream", Treatment::kHonoured},
    Row{"stream_options", Treatment::kHonoured},
    Row{"max_tokens", Treatment::kHonoured},
    Row{"max_completion_tokens", Treatment::kHonoured},
    Row{"temperature", Treatment::kHonoured},
    Row{"top_p", Treatment::kHonoured},
    Row{"top_k", Treatment::kHonoured},
    Row{"seed", Treatment::kHonoured},
    Row{"stop", Treatment::kHonoured},
    Row{"ignore_eos", Treatment::kHonoured},
    Row{"response_format", Treatment::kHonoured},

    Row{"user", Treatment::kIgnored},
    Row{"metadata", Treatment::kIgnored},
    Row{"service_tier", Treatment::kIgnored},
    Row{"safety_identifier", Treatment::kIgnored},
    Row{"prompt_cache_key", Treatment::kIgnored},

    Row{"store", Treatment::kUnsupported, Harmless::kFalse},
    Row{"n", Treatment::kUnsupported, Harmless::kOne},
    Row{"logprobs", Treatment::kUnsupported, Harmless::kFalse},
    Row{"top_logprobs", Treatment::kUnsupported},
    Row{"prompt_logprobs", Treatment::kUnsupported},
    Row{"logit_bias", Treatment::kUnsupported, Harmless::kEmpty},
    Row{"frequency_penalty", Treatment::kUnsupported, Harmless::kZero},
    Row{"presence_penalty", Treatment::kUnsupported, Harmless::kZero},
    Row{"repetition_penalty", Treatment::kUnsupported, Harmless::kOne},
    Row{"repeat_penalty", Treatment::kUnsupported, Harmless::kOne},
    Row{"min_p", Treatment::kUnsupported, Harmless::kZero},
    Row{"min_tokens", Treatment::kUnsupported, Harmless::kZero},
    Row{"stop_token_ids", Treatment::kUnsupported, Harmless::kEmpty},
    Row{"include_stop_str_in_output", Treatment::kUnsupported, Harmless::kFalse},
    Row{"tools", Treatment::kUnsupported},
    Row{"tool_choice", Treatment::kUnsupported, Harmless::kNoTool},
    Row{"parallel_tool_calls", Treatment::kUnsupported, Harmless::kFalse},
    Row{"functions", Treatment::kUnsupported},
    Row{"function_call", Treatment::kUnsupported},
    Row{"modalities", Treatment::kUnsupported, Harmless::kText},
    Row{"audio", Treatment::kUnsupported},
    Row{"prediction", Treatment::kUnsupported},
    Row{"reasoning_effort", Treatment::kUnsupported},
    Row{"verbosity", Treatment::kUnsupported},
    Row{"web_search_options", Treatment::kUnsupported},
    Row{"chat_template", Treatment::kUnsupported},
    Row{"chat_template_kwargs", Treatment::kUnsupported, Harmless::kEmpty},
    Row{"add_generation_prompt", Treatment::kUnsupported, Harmless::kTrue},
    Row{"continue_final_message", Treatment::kUnsupported, Harmless::kFalse},
    Row{"truncate_prompt_tokens", Treatment::kUnsupported},
    Row{"grammar", Treatment::kUnsupported},
    Row{"json_schema", Treatment::kUnsupported},
    Row{"guided_json", Treatment::kUnsupported},
    Row{"guided_regex", Treatment::kUnsupported},
    Row{"guided_choice", Treatment::kUnsupported},
    Row{"guided_grammar", Treatment::kUnsupported},
    Row{"best_of", Treatment::kUnsupported, Harmless::kOne},
    Row{"use_beam_search", Treatment::kUnsupported, Harmless::kFalse},
    Row{"previous_response_id", Treatment::kUnsupported},
    Row{"priority", Treatment::kUnsupported, Harmless::kZero},
};

const Row* find(std::string_view field) noexcept {
  const auto row = std::ranges::find(kRows, field, &Row::name);
  return row == kRows.end() ? nullptr : &*row;
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

Treatment treatment(std::string_view field) noexcept {
  const Row* row = find(field);
  return row == nullptr ? Treatment::kUnknown : row->treatment;
}

Result<void> check_unsupported(std::string_view field, const json& value) {
  const Row* row = find(field);
  O3_CHECK(row != nullptr && row->treatment == Treatment::kUnsupported, "not such a field");
  if (asks_nothing(row->harmless, value)) return {};
  const std::string name(field);
  if (row->harmless == Harmless::kNone) {
    return unsupported(name + " is not supported; leave it out.", name);
  }
  const std::string only =
      row->harmless == Harmless::kEmpty ? "empty" : harmless_value(row->harmless).dump();
  return unsupported(name + " is supported only as " + only + "; leave it out.", name);
}

}  // namespace o3::api::openai
