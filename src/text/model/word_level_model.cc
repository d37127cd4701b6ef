// SPDX-License-Identifier: Apache-2.0
#include "text/model/word_level_model.h"

namespace o3::text {

class WordLevelModel::Encoder final : public PieceEncoder {
 public:
  explicit Encoder(const WordLevelModel& model) : model_(model) {}
  void encode(std::string_view piece, std::vector<Token>& out) override {
    const auto token = model_.vocabulary_->find_ordinary(piece);
    const bool known = token && model_.vocabulary_->kind(*token) == TokenKind::kNormal;
    out.push_back(known ? *token : model_.unknown_);
  }

 private:
  const WordLevelModel& model_;
};

std::unique_ptr<PieceEncoder> WordLevelModel::encoder(size_t /*bytes*/) const {
  return std::make_unique<Encoder>(*this);
}

void WordLevelModel::mark_made(std::vector<bool>& mark) const {
  for (Token token = 0; token < vocabulary_->size(); ++token) {
    if (vocabulary_->kind(token) == TokenKind::kNormal) mark[static_cast<size_t>(token)] = true;
  }
}

}  // namespace o3::text
