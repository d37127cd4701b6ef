// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace o3::loader {

// How tokenizer_config.json and its like name a token: "<s>" or {"content": "<s>", ...}. Nothing
// where `token` is neither.
template <class Json>
std::optional<std::string> token_text(const Json& token) {
  if (token.is_string()) return token.template get<std::string>();
  if (!token.is_object()) return std::nullopt;
  const auto content = token.find("content");
  if (content == token.end() || !content->is_string()) return std::nullopt;
  return content->template get<std::string>();
}

}  // namespace o3::loader
