// SPDX-License-Identifier: Apache-2.0
#include "text/model/bpe_model.h"

#include <algorithm>
#include <utility>

#include "text/byte_alphabet.h"
#include "text/model/piece_cache.h"
#include "text/unicode/utf8.h"
#include "text/white_space.h"

namespace o3::text {

class BpeModel::Encoder final : public PieceEncoder {
 public:
  Encoder(const BpeModel& model, size_t bytes)
      : model_(model), merger_(model.merges_), cache_(bytes) {}

  void encode(std::string_view piece, std::vector<Token>& out) override {
    if (!model_.cut_words_) return encode_word(piece, out);
    while (!piece.empty()) {
      const size_t length = word(piece);
      encode_word(piece.substr(0, length), out);
      piece.remove_prefix(length);
    }
  }

 private:
  // Length of the first word, its own spaces at the front included.
  size_t word(std::string_view text) const noexcept {
    size_t at = 0;
    while (text.substr(at).starts_with(kMetaspace)) at += kMetaspace.size();
    for (at = text.find(kMetaspace, at); at != std::string_view::npos;
         at = text.find(kMetaspace, at + 1)) {
      if (!model_.joins_space_[static_cast<uint8_t>(text[at - 1])]) return at;
    }
    return text.size();
  }

  void encode_word(std::string_view piece, std::vector<Token>& out) {
    const std::span<const Token> known = cache_.find(piece);
    if (!known.empty()) {
      out.insert(out.end(), known.begin(), known.end());
      return;
    }
    symbols_.clear();
    if (model_.options_.ignore_merges) {
      // An added token's text is matched before, or is plain text on purpose.
      const auto whole = model_.vocabulary_->find_ordinary(piece);
      if (whole && model_.vocabulary_->kind(*whole) == TokenKind::kNormal) {
        symbols_.push_back(*whole);
      }
    }
    if (symbols_.empty()) {
      model_.symbols_of(piece, symbols_);
      merger_.merge(symbols_);
    }
    cache_.put(piece, symbols_);
    out.insert(out.end(), symbols_.begin(), symbols_.end());
  }

  const BpeModel& model_;
  BpeMerger merger_;
  PieceCache cache_;
  std::vector<Token> symbols_;
};

BpeModel::BpeModel(std::shared_ptr<const Vocabulary> vocabulary, MergeTable merges,
                   const BpeOptions& options)
    : vocabulary_(std::move(vocabulary)), merges_(std::move(merges)), options_(options) {
  for (size_t byte = 0; byte < byte_tokens_.size(); ++byte) {
    const char c = static_cast<char>(byte);
    byte_tokens_[byte] = vocabulary_->find_ordinary({&c, 1}).value_or(-1);
  }
  if (options_.byte_fallback) fallback_ = vocabulary_->byte_tokens();
  find_joints();
  const auto measure = [this](Token token) {
    longest_ = std::max(longest_, vocabulary_->bytes(token).size());
  };
  merges_.for_each_result(measure);
  for (Token token = 0; token < vocabulary_->size(); ++token) {
    if (vocabulary_->kind(token) == TokenKind::kNormal) measure(token);
  }
  const bool bytes = vocabulary_->form() == TextForm::kByteAlphabet;
  const bool fallback =
      !fallback_.empty() && std::find(fallback_.begin(), fallback_.end(), -1) == fallback_.end();
  covers_bytes_ = (bytes || fallback) && !has_affixes();
}

size_t BpeModel::fewest(std::string_view piece) const noexcept {
  if (!covers_bytes_) return 0;
  size_t covered = piece.size();
  if (vocabulary_->form() == TextForm::kByteAlphabet) {  // a byte without a token gives none
    covered = static_cast<size_t>(std::count_if(piece.begin(), piece.end(), [this](char c) {
      return byte_tokens_[static_cast<uint8_t>(c)] >= 0;
    }));
  }
  return (covered + longest_ - 1) / longest_;
}

void BpeModel::find_joints() {
  const bool characters =
      vocabulary_->form() == TextForm::kPlain && !options_.ignore_merges && !has_affixes();
  cut_words_ = characters && vocabulary_->find_ordinary(kMetaspace).has_value();
  // Spaces join spaces: a run of them is never cut.
  joins_space_[static_cast<uint8_t>(kMetaspace.back())] = true;
  for (Token token = 0; cut_words_ && token < vocabulary_->size(); ++token) {
    const std::string_view text = vocabulary_->bytes(token);
    for (size_t at = text.find(kMetaspace, 1); at != std::string_view::npos;
         at = text.find(kMetaspace, at + 1)) {
      joins_space_[static_cast<uint8_t>(text[at - 1])] = true;
    }
  }
}

std::unique_ptr<PieceEncoder> BpeModel::encoder(size_t bytes) const {
  return std::make_unique<Encoder>(*this, bytes);
}

Token BpeModel::symbol(std::string_view character) const noexcept {
  if (character.size() == 1) return byte_tokens_[static_cast<uint8_t>(character[0])];
  return vocabulary_->find_ordinary(character).value_or(-1);
}

// A pending unknown token waits until a character has a token again (and not merely its bytes): so
// does the reference.
void BpeModel::symbols_of(std::string_view piece, std::vector<Token>& out) const {
  const bool bytes = vocabulary_->form() == TextForm::kByteAlphabet;
  std::optional<Token> pending;
  std::string affixed;
  for (bool first = true; !piece.empty(); first = false) {
    const bool one = bytes || static_cast<uint8_t>(piece[0]) < 0x80;
    std::string_view character = piece.substr(0, one ? 1 : next_utf8_unit(piece).bytes);
    piece.remove_prefix(character.size());
    if (has_affixes()) {
      affixed = first ? "" : options_.continuing_prefix;
      affixed += character;
      if (piece.empty()) affixed += options_.word_suffix;
      character = affixed;
    }
    const Token token = symbol(character);
    if (token < 0) {
      add_missing(character, pending, out);
      continue;
    }
    if (pending) out.push_back(*std::exchange(pending, std::nullopt));
    out.push_back(token);
  }
  if (pending) out.push_back(*pending);
}

void BpeModel::add_missing(std::string_view character, std::optional<Token>& pending,
                           std::vector<Token>& out) const {
  if (!fallback_.empty()) {
    std::string written;  // the reference sees the byte alphabet's characters
    if (vocabulary_->form() == TextForm::kByteAlphabet) {
      for (const char c : character)
        append_utf8(alphabet_character(static_cast<uint8_t>(c)), written);
      character = written;
    }
    if (append_byte_tokens(character, fallback_, out)) return;
  }
  if (!options_.unknown) return;
  if (pending && !options_.fuse_unknown) out.push_back(*pending);
  pending = options_.unknown;
}

bool BpeModel::is_symbol(std::string_view text) const noexcept {
  const auto single = [this](std::string_view rest) {
    if (rest.empty()) return false;
    const bool byte = vocabulary_->form() == TextForm::kByteAlphabet;
    return rest.size() == (byte ? 1u : next_utf8_unit(rest).bytes);
  };
  std::string_view inner = text;
  if (inner.starts_with(options_.continuing_prefix)) {
    inner.remove_prefix(options_.continuing_prefix.size());
  }
  const auto without_suffix = [this](std::string_view rest) {
    if (rest.ends_with(options_.word_suffix)) rest.remove_suffix(options_.word_suffix.size());
    return rest;
  };
  return single(text) || single(inner) || single(without_suffix(text)) ||
         single(without_suffix(inner));
}

void BpeModel::mark_made(std::vector<bool>& mark) const {
  merges_.for_each_result([&mark](Token token) { mark[static_cast<size_t>(token)] = true; });
  for (Token token = 0; token < vocabulary_->size(); ++token) {
    const std::string_view text = vocabulary_->bytes(token);
    if (is_symbol(text) && vocabulary_->find_ordinary(text) == token) {
      mark[static_cast<size_t>(token)] = true;
    }
  }
}

}  // namespace o3::text
