// SPDX-License-Identifier: Apache-2.0
// WordPiece (BERT): from the left the longest token that fits; a word that cannot be written so is
// one unknown token.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "text/model/byte_trie.h"
#include "text/model/token_model.h"
#include "text/model/vocabulary.h"

namespace o3::text {

struct WordPieceOptions {
  Token unknown = 0;
  std::string continuing_prefix = "##";  // of tokens that do not begin a word
  size_t max_characters = 100;           // longer words are unknown
};

class WordPieceModel final : public TokenModel {
 public:
  WordPieceModel(const Vocabulary& vocabulary, const WordPieceOptions& options);

  std::unique_ptr<PieceEncoder> encoder(size_t bytes) const override;
  std::optional<Token> unknown() const noexcept override { return unknown_; }
  void mark_made(std::vector<bool>& mark) const override;

 private:
  class Encoder;

  ByteTrie first_;  // tokens that begin a word
  ByteTrie next_;   // the others, without their prefix
  std::vector<Token> made_;
  Token unknown_;
  size_t max_characters_;
};

}  // namespace o3::text
