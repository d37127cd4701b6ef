// SPDX-License-Identifier: Apache-2.0
// What chat and completion requests share: how the answer is sampled, where it ends, how it is
// sent.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/openai/field_table.h"
#include "base/result.h"
#include "config/json_reader.h"
#include "engine/request.h"

namespace o3::api::openai {

enum class AnswerFormat : uint8_t { kText, kJsonObject };

struct GenerationOptions {
  std::string model;
  std::optional<int32_t> max_tokens;                 // >= 1, of completions with echo >= 0
  std::string_view max_tokens_field = "max_tokens";  // the one that was given
  engine::SamplingParams sampling;  // in their ranges; without seed, choice and bad_words
  std::optional<uint64_t> seed;
  std::vector<std::string> bad_words;  // at most 64
  std::vector<std::string> stop;       // at most 4, none empty
  std::vector<Token> stop_token_ids;   // at most 128
  bool include_stop = false;           // the stop string is part of the answer
  bool ignore_eos = false;             // goes on behind the end of the text
  bool skip_special_tokens = true;     // the texts of control tokens are left out
  bool cache_prompt = true;            // what the KV cache knows of the prompt is not computed
  std::string cache_salt;              // shares KV pages with requests of the same salt only
  int32_t n = 1;                       // 1 to 64
  int32_t best_of = 1;                 // >= n; of completions
  std::optional<int32_t> logprobs;     // so many alternatives of each token: 0 to 20
  std::optional<int32_t> prompt_logprobs;
  AnswerFormat format = AnswerFormat::kText;
  bool stream = false;
  bool include_usage = false;
  bool continuous_usage = false;     // in every chunk
  std::vector<std::string> unknown;  // paths of fields that were not understood; printable, bounded
  size_t unknown_count = 0;          // also of those beyond the list's bound
};

struct RequestLimits {
  config::JsonLimits json{};
  size_t messages = 4096;
  size_t prompts = 64;      // of one completion request
  size_t stop_bytes = 512;  // of one stop string
  bool strict = false;      // unknown fields are refused
};

// The body as JSON; kInvalid says where it is not.
Result<nlohmann::json> read_body(std::string_view body, const RequestLimits& limits);

// Notes a field that was not understood; kUnsupported with `strict`.
Result<void> note_unknown(const std::string& path, bool strict, GenerationOptions& out);

// Checks every member against the table of the endpoint, then reads the shared ones.
Result<void> parse_generation_options(const nlohmann::json& root, Endpoint endpoint,
                                      const RequestLimits& limits, GenerationOptions& out);

}  // namespace o3::api::openai
