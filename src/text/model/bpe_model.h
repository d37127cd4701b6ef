// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding, over bytes (GPT-2 and its descendants) or characters (SentencePiece), exact
// to Hugging Face's `tokenizers`.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/model/bpe_merger.h"
#include "text/model/merge_table.h"
#include "text/model/token_model.h"
#include "text/model/vocabulary.h"

namespace o3::text {

struct BpeOptions {
  std::optional<Token> unknown;  // of a character without a token; else it gives none
  bool fuse_unknown = false;     // a run of them is one
  bool byte_fallback = false;    // before that: its bytes, where all their tokens exist
  bool ignore_merges = false;    // a piece that is a token is that token
  // Written at symbols that do not begin, or that end, a piece; as bytes in a byte-level
  // vocabulary.
  std::string continuing_prefix;
  std::string word_suffix;
};

class BpeModel final : public TokenModel {
 public:
  // The vocabulary's form says whether pieces are bytes or characters.
  BpeModel(std::shared_ptr<const Vocabulary> vocabulary, MergeTable merges,
           const BpeOptions& options);

  std::unique_ptr<PieceEncoder> encoder(size_t bytes) const override;
  size_t fewest(std::string_view piece) const noexcept override;
  std::optional<Token> unknown() const noexcept override { return options_.unknown; }
  void mark_made(std::vector<bool>& mark) const override;

 private:
  class Encoder;

  void find_joints();
  void symbols_of(std::string_view piece, std::vector<Token>& out) const;
  Token symbol(std::string_view character) const noexcept;  // -1: none
  void add_missing(std::string_view character, std::optional<Token>& pending,
                   std::vector<Token>& out) const;
  bool is_symbol(std::string_view text) const noexcept;
  bool has_affixes() const noexcept {
    return !options_.continuing_prefix.empty() || !options_.word_suffix.empty();
  }

  std::shared_ptr<const Vocabulary> vocabulary_;
  MergeTable merges_;
  BpeOptions options_;
  std::array<Token, 256> byte_tokens_{};  // of one-byte texts; -1: the vocabulary lacks it
  std::vector<Token> fallback_;           // Vocabulary::byte_tokens(), or empty
  size_t longest_ = 1;                    // bytes of the longest token that text can become
  bool covers_bytes_ = false;             // every byte of a text is part of some token
  // A text may be cut before U+2581 where no token has it behind the same byte: no merge reaches
  // into the next word. Pieces of words repeat; whole texts, which SentencePiece encodes, do not.
  bool cut_words_ = false;
  std::array<bool, 256> joins_space_{};  // by the byte before U+2581
};

}  // namespace o3::text
