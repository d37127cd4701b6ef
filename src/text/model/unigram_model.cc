// SPDX-License-Identifier: Apache-2.0
#include "text/model/unigram_model.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "text/unicode/utf8.h"

namespace o3::text {
namespace {

constexpr double kUnknownPenalty = 10.0;  // below the worst score (SentencePiece)
constexpr Token kUnknownPiece = -1;

}  // namespace

class UnigramModel::Encoder final : public PieceEncoder {
 public:
  explicit Encoder(const UnigramModel& model) : model_(model) {}

  void encode(std::string_view piece, std::vector<Token>& out) override {
    best_.assign(piece.size() + 1, Node{});
    for (size_t at = 0; at < piece.size();) {
      const size_t bytes = next_utf8_unit(piece.substr(at)).bytes;
      relax(piece, at, bytes);
      at += bytes;
    }
    trace(piece, out);
  }

 private:
  struct Node {
    Token token = kUnknownPiece;
    uint32_t from = 0;
    double score = 0;
    bool reached = false;
  };

  void offer(size_t from, size_t to, Token token, double score) {
    Node& node = best_[to];
    if (node.reached && score <= node.score) return;
    node = {token, static_cast<uint32_t>(from), score, true};
  }

  // Every token that begins at `at`, whose character has `bytes` bytes.
  void relax(std::string_view piece, size_t at, size_t bytes) {
    const double here = best_[at].score;
    bool single = false;
    uint32_t node = ByteTrie::kRoot;
    for (size_t end = at; end < piece.size();) {
      node = model_.trie_.step(node, piece[end++]);
      if (node == ByteTrie::kNone) break;
      const Token token = model_.trie_.value(node);
      if (token < 0) continue;
      offer(at, end, token, here + model_.scores_[static_cast<size_t>(token)]);
      single = single || end - at == bytes;
    }
    if (!single) offer(at, at + bytes, kUnknownPiece, here + model_.unknown_score_);
  }

  void trace(std::string_view piece, std::vector<Token>& out) {
    spans_.clear();
    for (size_t end = piece.size(); end > 0;) {
      const Node& node = best_[end];
      const bool unknown = node.token == kUnknownPiece;
      if (unknown && !spans_.empty() && spans_.back().token == kUnknownPiece) {
        spans_.back().from = node.from;  // one run
      } else {
        spans_.push_back({node.token, node.from, static_cast<uint32_t>(end)});
      }
      end = node.from;
    }
    for (auto span = spans_.rbegin(); span != spans_.rend(); ++span) {
      if (span->token != kUnknownPiece) {
        out.push_back(span->token);
        continue;
      }
      const std::string_view text = piece.substr(span->from, span->to - span->from);
      if (!append_byte_tokens(text, model_.fallback_, out) && model_.unknown_) {
        out.push_back(*model_.unknown_);
      }
    }
  }

  struct Span {
    Token token;
    uint32_t from;
    uint32_t to;
  };
  const UnigramModel& model_;
  std::vector<Node> best_;   // by end position
  std::vector<Span> spans_;  // last first
};

UnigramModel::UnigramModel(const Vocabulary& vocabulary, std::vector<double> scores,
                           std::optional<Token> unknown, bool byte_fallback)
    : scores_(std::move(scores)), unknown_(unknown) {
  size_t bytes = 0;
  double worst = std::numeric_limits<double>::infinity();
  for (Token token = 0; token < vocabulary.size(); ++token) {
    if (vocabulary.contains(token)) worst = std::min(worst, scores_[static_cast<size_t>(token)]);
    bytes += vocabulary.bytes(token).size();
  }
  unknown_score_ = worst - kUnknownPenalty;
  trie_.reserve(bytes);
  made_.resize(static_cast<size_t>(vocabulary.size()));
  for (Token token = 0; token < vocabulary.size(); ++token) {
    const TokenKind kind = vocabulary.kind(token);
    // Texts of byte tokens ("<0x0A>") too: so does the reference.
    const bool made = kind == TokenKind::kNormal || kind == TokenKind::kByte;
    if (!made || token == unknown) continue;
    trie_.insert(vocabulary.bytes(token), token);
    made_[static_cast<size_t>(token)] = true;
  }
  if (byte_fallback) fallback_ = vocabulary.byte_tokens();
}

std::unique_ptr<PieceEncoder> UnigramModel::encoder(size_t /*bytes*/) const {
  return std::make_unique<Encoder>(*this);
}

void UnigramModel::mark_made(std::vector<bool>& mark) const {
  for (size_t i = 0; i < made_.size(); ++i) {
    if (made_[i]) mark[i] = true;
  }
}

}  // namespace o3::text
