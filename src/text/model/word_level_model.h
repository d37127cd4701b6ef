// SPDX-License-Identifier: Apache-2.0
// WordLevel: a piece is a token or unknown.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "text/model/token_model.h"
#include "text/model/vocabulary.h"

namespace o3::text {

class WordLevelModel final : public TokenModel {
 public:
  WordLevelModel(std::shared_ptr<const Vocabulary> vocabulary, Token unknown)
      : vocabulary_(std::move(vocabulary)), unknown_(unknown) {}

  std::unique_ptr<PieceEncoder> encoder(size_t bytes) const override;
  std::optional<Token> unknown() const noexcept override { return unknown_; }
  void mark_made(std::vector<bool>& mark) const override;

 private:
  class Encoder;

  std::shared_ptr<const Vocabulary> vocabulary_;
  Token unknown_;
};

}  // namespace o3::text
