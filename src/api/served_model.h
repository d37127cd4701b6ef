// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/request.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace o3::api {

// What a chat template makes a prompt of.
struct Conversation {
  std::vector<text::ChatMessage> messages{};
  bool add_generation_prompt = true;
  nlohmann::ordered_json arguments = nlohmann::ordered_json::object();  // the client's, untrusted
};

// Control tokens of fill-in-the-middle models.
struct Infill {
  Token prefix = 0;
  Token suffix = 0;
  Token middle = 0;
};

// A model as clients see it. Immutable; everything in it may be used by any thread.
struct ServedModel {
  std::string id{};                    // 1-128 characters of [A-Za-z0-9._:/-]
  std::vector<std::string> aliases{};  // further names of it, of the same form
  int64_t created = 0;                 // Unix seconds
  std::shared_ptr<const text::Tokenizer> tokenizer{};
  // Conversation -> prompt segments, by the model's chat template; empty: the model has none and
  // chat is refused.
  std::function<Result<std::vector<text::Segment>>(const Conversation&)> render{};
  engine::InstanceId instance{};
  uint64_t revision = 0;  // for the cache domain
  int32_t context = 0;    // most tokens of prompt and answer together
  std::vector<Token> stop_tokens{};
  std::optional<Infill> infill{};
  engine::ConstraintFactory json_object{};  // response_format json_object; empty: refused
};

// kInvalid: not what an id may be.
Result<void> check_model_id(std::string_view id);

}  // namespace o3::api
