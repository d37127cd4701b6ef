// SPDX-License-Identifier: Apache-2.0
#include "api/openai/generation_options.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "api/openai/field.h"

namespace o3::api::openai {
namespace {

constexpr size_t kMaxStops = 4;
constexpr size_t kMaxBadWords = 64;
constexpr size_t kMaxStopTokens = 128;
constexpr size_t kMaxBiases = 1024;
constexpr size_t kMaxSaltBytes = 256;
constexpr size_t kNamedUnknown = 8;
constexpr int64_t kMaxChoices = 64;
constexpr int64_t kMaxLogprobs = 20;

struct RealField {
  const char* name;
  double min;
  double max;
  bool above_min;
  float engine::SamplingParams::*member;
};
constexpr std::array kReals{
    RealField{"temperature", 0, 2, false, &engine::SamplingParams::temperature},
    RealField{"top_p", 0, 1, true, &engine::SamplingParams::top_p},
    RealField{"min_p", 0, 1, false, &engine::SamplingParams::min_p},
    RealField{"typical_p", 0, 1, true, &engine::SamplingParams::typical_p},
    // llama-server's name first: where both are given, vLLM's wins.
    RealField{"repeat_penalty", 0.01, 100, false, &engine::SamplingParams::repetition_penalty},
    RealField{"repetition_penalty", 0.01, 100, false, &engine::SamplingParams::repetition_penalty},
    RealField{"presence_penalty", -2, 2, false, &engine::SamplingParams::presence_penalty},
    RealField{"frequency_penalty", -2, 2, false, &engine::SamplingParams::frequency_penalty},
};

struct FlagField {
  const char* name;
  bool GenerationOptions::*member;
};
constexpr std::array kFlags{
    FlagField{"cache_prompt", &GenerationOptions::cache_prompt},
    FlagField{"ignore_eos", &GenerationOptions::ignore_eos},
    FlagField{"include_stop_str_in_output", &GenerationOptions::include_stop},
    FlagField{"skip_special_tokens", &GenerationOptions::skip_special_tokens},
    FlagField{"stream", &GenerationOptions::stream},
};

Error list_error(const char* name, size_t most, const char* of) {
  return invalid(std::string(name) + " takes at most " + std::to_string(most) + " " + of + ".",
                 name);
}

// Reads one request; the first error ends it.
class OptionsParser {
 public:
  OptionsParser(const Json& root, Endpoint endpoint, const RequestLimits& limits,
                GenerationOptions& out)
      : root_(root), endpoint_(endpoint), limits_(limits), out_(out) {}

  Result<void> parse() {
    O3_TRY(fields());
    O3_TRY(model());
    O3_TRY(sampling());
    O3_TRY(lengths());
    O3_TRY(choices());
    O3_TRY(logprobs());
    O3_TRY(bias());
    O3_TRY(stops());
    O3_TRY(stop_tokens());
    O3_TRY(bad_words());
    O3_TRY(format());
    O3_TRY(cache());
    return streaming();
  }

 private:
  const Json* member(const char* name) const { return openai::member(root_, name); }
  Result<int64_t> integer(const char* name, int64_t min, int64_t max, int64_t standard) const {
    const Json* value = member(name);
    return value == nullptr ? standard : read_integer(*value, name, min, max);
  }
  Result<void> fields();
  Result<void> model();
  Result<void> sampling();
  Result<void> lengths();
  Result<void> choices();
  Result<void> logprobs();
  Result<void> bias();
  Result<void> stops();
  Result<void> stop(const Json& value, const std::string& path);
  Result<void> stop_tokens();
  Result<void> bad_words();
  Result<void> format();
  Result<void> cache();
  Result<void> streaming();
  Result<void> stream_option(const std::string& name, const Json& value);

  const Json& root_;
  const Endpoint endpoint_;
  const RequestLimits& limits_;
  GenerationOptions& out_;
};

Result<void> OptionsParser::fields() {
  for (const auto& [name, value] : root_.items()) {
    switch (treatment(endpoint_, name)) {
      case Treatment::kHonoured:
      case Treatment::kIgnored:
        break;
      case Treatment::kUnsupported:
        O3_TRY(check_unsupported(endpoint_, name, value));
        break;
      case Treatment::kUnknown:
        O3_TRY(note_unknown(name, limits_.strict, out_));
        break;
    }
  }
  return {};
}

Result<void> OptionsParser::model() {
  const Json* value = member("model");
  if (value == nullptr) return invalid("model is missing.", "model");
  O3_ASSIGN(out_.model, read_text(*value, "model"));
  return {};
}

Result<void> OptionsParser::sampling() {
  for (const RealField& field : kReals) {
    const Json* value = member(field.name);
    if (value == nullptr) continue;
    O3_ASSIGN(const double read,
              read_real(*value, field.name, field.min, field.max, field.above_min));
    // A tiny value must not round to 0, which would allow no token at all.
    const float least = field.above_min ? 1e-6F : static_cast<float>(field.min);
    out_.sampling.*field.member = std::max(static_cast<float>(read), least);
  }
  for (const FlagField& field : kFlags) {
    const Json* value = member(field.name);
    if (value == nullptr) continue;
    O3_ASSIGN(out_.*field.member, read_flag(*value, field.name));
  }
  O3_ASSIGN(const int64_t top_k, integer("top_k", -1, INT32_MAX, 0));
  out_.sampling.top_k = static_cast<int32_t>(std::max<int64_t>(top_k, 0));  // -1: off, as elsewhere
  if (const Json* value = member("seed")) {
    O3_ASSIGN(const int64_t read, read_integer(*value, "seed", INT64_MIN, INT64_MAX));
    out_.seed = static_cast<uint64_t>(read);
  }
  return {};
}

Result<void> OptionsParser::lengths() {
  // With echo, completions may ask for the prompt alone.
  const int64_t least = endpoint_ == Endpoint::kCompletions ? 0 : 1;
  for (const char* name : {"max_tokens", "max_completion_tokens"}) {
    const Json* value = member(name);
    if (value == nullptr) continue;
    O3_ASSIGN(const int64_t read, read_integer(*value, name, least, INT32_MAX));
    out_.max_tokens = static_cast<int32_t>(read);
    out_.max_tokens_field = name;
  }
  O3_ASSIGN(const int64_t min_tokens, integer("min_tokens", 0, INT32_MAX, 0));
  out_.sampling.min_tokens = static_cast<int32_t>(min_tokens);
  if (out_.max_tokens && out_.sampling.min_tokens > *out_.max_tokens) {
    return invalid("min_tokens must not be above " + std::string(out_.max_tokens_field) + ".",
                   "min_tokens");
  }
  return {};
}

Result<void> OptionsParser::choices() {
  O3_ASSIGN(const int64_t n, integer("n", 1, kMaxChoices, 1));
  out_.n = static_cast<int32_t>(n);
  O3_ASSIGN(const int64_t best_of, integer("best_of", 1, kMaxChoices, n));
  if (best_of < n) return invalid("best_of must be at least n.", "best_of");
  out_.best_of = static_cast<int32_t>(best_of);
  const bool streams = member("stream") != nullptr && *member("stream") == true;
  if (best_of > n && streams) {
    return invalid("best_of above n cannot be streamed: the best is known at the end.", "best_of");
  }
  return {};
}

Result<void> OptionsParser::logprobs() {
  const Json* value = member("logprobs");
  if (endpoint_ == Endpoint::kCompletions) {
    if (value != nullptr) {
      O3_ASSIGN(const int64_t read, read_integer(*value, "logprobs", 0, kMaxLogprobs));
      out_.logprobs = static_cast<int32_t>(read);
    }
  } else {
    bool asked = false;
    if (value != nullptr) {
      O3_ASSIGN(asked, read_flag(*value, "logprobs"));
    }
    O3_ASSIGN(const int64_t top, integer("top_logprobs", 0, kMaxLogprobs, -1));
    if (top > 0 && !asked) {
      return invalid("top_logprobs is only allowed with logprobs: true.", "top_logprobs");
    }
    if (asked) out_.logprobs = static_cast<int32_t>(std::max<int64_t>(top, 0));
  }
  const Json* prompt = member("prompt_logprobs");
  if (prompt == nullptr) return {};
  O3_ASSIGN(const int64_t read, read_integer(*prompt, "prompt_logprobs", 0, kMaxLogprobs));
  if (out_.stream) {
    return invalid("prompt_logprobs cannot be streamed; leave it or stream out.",
                   "prompt_logprobs");
  }
  out_.prompt_logprobs = static_cast<int32_t>(read);
  return {};
}

Result<void> OptionsParser::bias() {
  const Json* value = member("logit_bias");
  if (value == nullptr) return {};
  if (!value->is_object()) {
    return invalid("logit_bias must be an object: {\"TOKEN ID\": -100 to 100}.", "logit_bias");
  }
  if (value->size() > kMaxBiases) return list_error("logit_bias", kMaxBiases, "tokens");
  for (const auto& [name, bias] : value->items()) {
    Token token = 0;
    const char* end = name.data() + name.size();
    const auto read = std::from_chars(name.data(), end, token);
    if (read.ec != std::errc() || read.ptr != end || token < 0) {
      return invalid("logit_bias takes token ids as keys, such as \"1234\".", "logit_bias");
    }
    O3_ASSIGN(const double number, read_real(bias, "logit_bias." + name, -100, 100));
    out_.sampling.bias.push_back({token, static_cast<float>(number)});
  }
  return {};
}

Result<void> OptionsParser::stop(const Json& value, const std::string& path) {
  O3_ASSIGN(std::string text, read_text(value, path));
  if (text.empty() || text.size() > limits_.stop_bytes) {
    return invalid(path + " must have 1 to " + std::to_string(limits_.stop_bytes) + " bytes.",
                   path);
  }
  out_.stop.push_back(std::move(text));
  return {};
}

Result<void> OptionsParser::stops() {
  const Json* value = member("stop");
  if (value == nullptr) return {};
  if (!value->is_array()) return stop(*value, "stop");
  if (value->size() > kMaxStops) return list_error("stop", kMaxStops, "strings");
  for (size_t i = 0; i < value->size(); ++i) O3_TRY(stop((*value)[i], at("stop", i)));
  return {};
}

Result<void> OptionsParser::stop_tokens() {
  const Json* value = member("stop_token_ids");
  if (value == nullptr) return {};
  if (!value->is_array()) {
    return invalid("stop_token_ids must be a list of token ids.", "stop_token_ids");
  }
  if (value->size() > kMaxStopTokens) return list_error("stop_token_ids", kMaxStopTokens, "ids");
  for (size_t i = 0; i < value->size(); ++i) {
    O3_ASSIGN(const int64_t id, read_integer((*value)[i], at("stop_token_ids", i), 0, INT32_MAX));
    out_.stop_token_ids.push_back(static_cast<Token>(id));
  }
  return {};
}

Result<void> OptionsParser::bad_words() {
  const Json* value = member("bad_words");
  if (value == nullptr) return {};
  if (!value->is_array()) return invalid("bad_words must be a list of strings.", "bad_words");
  if (value->size() > kMaxBadWords) return list_error("bad_words", kMaxBadWords, "strings");
  for (size_t i = 0; i < value->size(); ++i) {
    const std::string path = at("bad_words", i);
    O3_ASSIGN(std::string word, read_text((*value)[i], path));
    if (word.empty() || word.size() > limits_.stop_bytes) {
      return invalid(path + " must have 1 to " + std::to_string(limits_.stop_bytes) + " bytes.",
                     path);
    }
    out_.bad_words.push_back(std::move(word));
  }
  return {};
}

Result<void> OptionsParser::format() {
  const Json* value = member("response_format");
  if (value == nullptr) return {};
  const Json* type = value->is_object() ? openai::member(*value, "type") : nullptr;
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
  return {};
}

Result<void> OptionsParser::cache() {
  const Json* value = member("cache_salt");
  if (value == nullptr) return {};
  O3_ASSIGN(out_.cache_salt, read_text(*value, "cache_salt"));
  if (!out_.cache_salt.empty() && out_.cache_salt.size() <= kMaxSaltBytes) return {};
  return invalid("cache_salt must have 1 to " + std::to_string(kMaxSaltBytes) + " bytes.",
                 "cache_salt");
}

Result<void> OptionsParser::stream_option(const std::string& name, const Json& value) {
  const std::string path = "stream_options." + name;
  if (value.is_null()) return {};
  if (name == "include_usage") {
    O3_ASSIGN(out_.include_usage, read_flag(value, path));
  } else if (name == "continuous_usage_stats") {
    O3_ASSIGN(out_.continuous_usage, read_flag(value, path));
  } else if (name != "include_obfuscation" || value != false) {
    return note_unknown(path, limits_.strict, out_);
  }
  return {};
}

Result<void> OptionsParser::streaming() {
  const Json* options = member("stream_options");
  if (options == nullptr) return {};
  if (!out_.stream) {
    return invalid("stream_options is only allowed with stream: true.", "stream_options");
  }
  if (!options->is_object()) {
    return invalid("stream_options must be an object.", "stream_options");
  }
  for (const auto& [name, value] : options->items()) O3_TRY(stream_option(name, value));
  return {};
}

}  // namespace

Result<Json> read_body(std::string_view body, const RequestLimits& limits) {
  auto root = config::read_json(body, limits.json);
  if (!root.ok()) {
    // Whatever bound the text broke, it is the text that is wrong (kTooLong means the context).
    const std::string& place = root.error().param;
    return invalid("The body cannot be read: " + root.error().message +
                       (place.empty() ? "" : " At " + place + "."),
                   place);
  }
  if (!root->is_object()) {
    return invalid("The body must be a JSON object, not " + std::string(root->type_name()) + ".");
  }
  return root;
}

Result<void> note_unknown(const std::string& path, bool strict, GenerationOptions& out) {
  // The name goes into a header field and a message: printable ASCII only, and not much of it.
  std::string name;
  for (const char c : path.substr(0, 64)) name += c > 0x20 && c < 0x7f && c != ',' ? c : '?';
  if (strict) {
    return unsupported("There is no field " + name + " (this server refuses unknown fields).",
                       name);
  }
  ++out.unknown_count;
  if (out.unknown.size() < kNamedUnknown) out.unknown.push_back(std::move(name));
  return {};
}

Result<void> parse_generation_options(const Json& root, Endpoint endpoint,
                                      const RequestLimits& limits, GenerationOptions& out) {
  return OptionsParser(root, endpoint, limits, out).parse();
}

}  // namespace o3::api::openai
