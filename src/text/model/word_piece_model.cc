// SPDX-License-Identifier: Apache-2.0
#include "text/model/word_piece_model.h"

#include <algorithm>

namespace o3::text {

class WordPieceModel::Encoder final : public PieceEncoder {
 public:
  explicit Encoder(const WordPieceModel& model) : model_(model) {}

  void encode(std::string_view piece, std::vector<Token>& out) override {
    const auto characters =
        static_cast<size_t>(std::count_if(piece.begin(), piece.end(), [](char c) {
          return (static_cast<uint8_t>(c) & 0xC0) != 0x80;
        }));
    const size_t before = out.size();
    bool fits = characters <= model_.max_characters_;
    for (size_t at = 0; fits && at < piece.size();) {
      const ByteTrie& trie = at == 0 ? model_.first_ : model_.next_;
      uint32_t node = ByteTrie::kRoot;
      Token best = -1;
      size_t end = at;
      for (size_t i = at; i < piece.size(); ++i) {
        node = trie.step(node, piece[i]);
        if (node == ByteTrie::kNone) break;
        if (trie.value(node) < 0) continue;
        best = trie.value(node);
        end = i + 1;
      }
      fits = best >= 0;
      out.push_back(best);
      at = end;
    }
    if (fits) return;
    out.resize(before);
    out.push_back(model_.unknown_);
  }

 private:
  const WordPieceModel& model_;
};

WordPieceModel::WordPieceModel(const Vocabulary& vocabulary, const WordPieceOptions& options)
    : unknown_(options.unknown), max_characters_(options.max_characters) {
  for (Token token = 0; token < vocabulary.size(); ++token) {
    if (vocabulary.kind(token) != TokenKind::kNormal) continue;
    const std::string_view text = vocabulary.bytes(token);
    first_.insert(text, token);  // a word may be written "##x" in the text itself
    const std::string& prefix = options.continuing_prefix;
    if (text.starts_with(prefix) && text.size() > prefix.size()) {
      next_.insert(text.substr(prefix.size()), token);
    }
    made_.push_back(token);
  }
}

std::unique_ptr<PieceEncoder> WordPieceModel::encoder(size_t /*bytes*/) const {
  return std::make_unique<Encoder>(*this);
}

void WordPieceModel::mark_made(std::vector<bool>& mark) const {
  for (const Token token : made_) mark[static_cast<size_t>(token)] = true;
}

}  // namespace o3::text
