// SPDX-License-Identifier: Apache-2.0
// Byte-level BPE (GPT-2 and its descendants), exact to Hugging Face's `tokenizers`.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/merge_table.h"
#include "text/pretokenizer.h"
#include "text/tokenizer.h"
#include "text/tokenizer_spec.h"
#include "text/vocabulary.h"

namespace o3::text {

// A byte that the vocabulary has no token for (SmolLM2 lacks six ASCII controls) gives no token, as
// in the reference; the alternative, the unknown token, would let plain text make a control token.
class BpeTokenizer final : public Tokenizer {
 public:
  static Result<std::unique_ptr<Tokenizer>> load(const TokenizerSpec& spec);

  // What load() has validated and built.
  struct Parts {
    Vocabulary vocabulary;
    MergeTable merges;
    FirstPiece first_piece;
  };
  BpeTokenizer(Parts parts, const TokenizerSpec& spec);
  BpeTokenizer(const BpeTokenizer&) = delete;
  BpeTokenizer& operator=(const BpeTokenizer&) = delete;

  int32_t vocabulary_size() const noexcept override { return vocabulary_.size(); }
  std::optional<Token> bos() const noexcept override { return bos_; }
  std::optional<Token> eos() const noexcept override { return eos_; }
  bool adds_bos() const noexcept override { return adds_bos_; }
  bool is_control(Token token) const noexcept override {
    return vocabulary_.contains(token) && vocabulary_.is_added(token);
  }
  std::optional<Token> find(std::string_view piece_text) const override {
    return vocabulary_.find(piece_text);
  }
  std::vector<Token> encode(std::string_view text, SpecialTokens specials) const override;
  std::vector<Token> encode(std::span<const Segment> segments) const override;
  BoundedTokens encode_at_most(std::span<const Segment> segments, size_t most) const override;
  std::string_view bytes(Token token, bool show_control) const noexcept override;

 private:
  struct Range {
    size_t begin;
    size_t end;
  };
  struct Marked;    // well-formed text and where it is trusted
  struct Encoding;  // the tokens so far, how many are wanted, scratch memory

  BoundedTokens encode_marked(const Marked& marked, size_t most) const;
  // False: there are more tokens than wanted.
  bool encode_trusted(const Marked& marked, Encoding& encoding) const;
  bool encode_ordinary(std::string_view text, Encoding& encoding) const;

  Vocabulary vocabulary_;
  MergeTable merges_;
  AddedTokens added_;  // views vocabulary_: the object never moves
  FirstPiece first_piece_;
  std::array<Token, 256> byte_tokens_{};  // -1: the vocabulary lacks the byte
  size_t longest_ = 1;                    // bytes of the longest token that BPE may make
  std::optional<Token> bos_;
  std::optional<Token> eos_;
  bool adds_bos_;
};

}  // namespace o3::text
