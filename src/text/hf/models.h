// SPDX-License-Identifier: Apache-2.0
// The models of tokenizer.json.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "text/hf/json_tree.h"
#include "text/model/token_model.h"
#include "text/model/vocabulary.h"

namespace o3::text {

inline constexpr Token kMaxModelTokens = 1 << 22;

// The vocabulary of a model by id, as it is collected; views the JSON tree.
struct ModelTokens {
  std::vector<std::string_view> texts;
  std::vector<TokenKind> kinds;
  std::vector<double> scores;  // Unigram
  size_t count = 0;            // of the model's tokens

  bool at(Token token) const noexcept {
    const auto index = static_cast<size_t>(token);
    return index < kinds.size() && kinds[index] != TokenKind::kAbsent;
  }
  void set(Token token, std::string_view text, TokenKind kind);
  // The token of each text, -1 if none.
  std::vector<Token> find(std::span<const std::string_view> wanted) const;
};

Result<ModelTokens> read_model_tokens(const JsonValue& model);

// `tokens` as they stand once the added tokens are known.
Result<std::unique_ptr<TokenModel>> build_model(const JsonValue& model, const ModelTokens& tokens,
                                                std::shared_ptr<const Vocabulary> vocabulary);

}  // namespace o3::text
