// SPDX-License-Identifier: Apache-2.0
// Unigram language model (Kudo 2018): the segmentation of the highest total score, by Viterbi's
// algorithm, exact to Hugging Face's `tokenizers`.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "text/model/byte_trie.h"
#include "text/model/token_model.h"
#include "text/model/vocabulary.h"

namespace o3::text {

class UnigramModel final : public TokenModel {
 public:
  // Scores by token, finite. Runs of unknown characters are one unknown token.
  UnigramModel(const Vocabulary& vocabulary, std::vector<double> scores,
               std::optional<Token> unknown, bool byte_fallback);

  std::unique_ptr<PieceEncoder> encoder(size_t bytes) const override;
  std::optional<Token> unknown() const noexcept override { return unknown_; }
  void mark_made(std::vector<bool>& mark) const override;

 private:
  class Encoder;

  ByteTrie trie_;
  std::vector<double> scores_;
  std::vector<bool> made_;
  std::optional<Token> unknown_;
  double unknown_score_ = 0;
  std::vector<Token> fallback_;  // Vocabulary::byte_tokens(), or empty
};

}  // namespace o3::text
