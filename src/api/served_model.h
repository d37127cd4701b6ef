// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/request.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace o3::api {

// A model as clients see it. Immutable; everything in it may be used by any thread.
struct ServedModel {
  std::string id{};     // 1-128 characters of [A-Za-z0-9._:/-]
  int64_t created = 0;  // Unix seconds
  std::shared_ptr<const text::Tokenizer> tokenizer{};
  // Messages -> prompt segments, by the model's chat template; empty: the model has none and chat
  // is refused.
  std::function<Result<std::vector<text::Segment>>(const std::vector<text::ChatMessage>&)> render{};
  engine::InstanceId instance{};
  uint64_t revision = 0;  // for the cache domain
  int32_t context = 0;    // most tokens of prompt and answer together
  std::vector<Token> stop_tokens{};
  engine::ConstraintFactory json_object{};  // response_format json_object; empty: refused
};

// kInvalid: not what an id may be.
Result<void> check_model_id(std::string_view id);

// Looks up by id; nullptr if there is none.
using ServedModels = std::vector<std::shared_ptr<const ServedModel>>;
inline std::shared_ptr<const ServedModel> find_model(const ServedModels& models,
                                                     std::string_view id) {
  for (const auto& model : models) {
    if (model->id == id) return model;
  }
  return nullptr;
}

}  // namespace o3::api
