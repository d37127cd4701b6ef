// SPDX-License-Identifier: Apache-2.0
// The one tokenizer: a row of components, as tokenizer.json has them and exact to Hugging Face's
// `tokenizers`. Text goes through: added tokens, normalizer, added tokens again (those matched in
// normalized text), pre-tokenizer, model.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"
#include "text/model/token_model.h"
#include "text/model/vocabulary.h"
#include "text/normalize/normalizer.h"
#include "text/split/pre_tokenizer.h"
#include "text/token_decoder.h"
#include "text/tokenizer.h"

namespace o3::text {

// What a loader has validated and built.
struct TokenizerParts {
  std::shared_ptr<const Vocabulary> vocabulary;  // all ids, added tokens too
  std::vector<AddedToken> added;
  NormalizerPtr normalizer;       // may be null
  PreTokenizerPtr pre_tokenizer;  // may be null
  std::unique_ptr<TokenModel> model;
  TokenDecoder decoder;
  Frame frame;
  std::optional<Token> bos;
  std::optional<Token> eos;
  bool add_bos = false;
  size_t max_text_bytes = kMaxTextBytes;  // tests make do with less
};

class PipelineTokenizer final : public Tokenizer {
 public:
  // kUnsupported: normalizer, pre-tokenizer or decoder could make texts of tokens huge.
  static Result<std::unique_ptr<Tokenizer>> build(TokenizerParts parts);

  int32_t vocabulary_size() const noexcept override { return parts_.vocabulary->size(); }
  std::optional<Token> bos() const noexcept override { return parts_.bos; }
  std::optional<Token> eos() const noexcept override { return parts_.eos; }
  std::optional<Token> unknown() const noexcept override { return parts_.model->unknown(); }
  bool adds_bos() const noexcept override { return parts_.add_bos; }
  Frame frame() const override { return parts_.frame; }
  bool streams() const noexcept override { return parts_.decoder.streams(); }
  bool is_control(Token token) const noexcept override {
    return parts_.vocabulary->contains(token) && control_[static_cast<size_t>(token)];
  }
  std::optional<Token> find(std::string_view piece_text) const override {
    return parts_.vocabulary->find(piece_text);
  }
  Result<std::vector<Token>> encode(std::string_view text, SpecialTokens specials) const override;
  Result<std::vector<Token>> encode(std::span<const Segment> segments) const override;
  Result<BoundedTokens> encode_at_most(std::span<const Segment> segments,
                                       size_t most) const override;
  std::string_view bytes(Token token, bool show_control) const noexcept override;
  std::string join(std::span<const Token> tokens, bool show_control) const override;

 private:
  explicit PipelineTokenizer(TokenizerParts parts);

  struct Source;  // well-formed text and whose it is
  struct Run;     // the work on one text

  Result<void> check_length(double bytes) const;
  Result<BoundedTokens> encode_source(Source& source, bool plain_specials, size_t most) const;
  Result<void> encode_section(size_t begin, size_t end, Run& run) const;
  void encode_normalized(std::string_view text, const Trust& trust, bool at_origin, Run& run) const;
  void encode_plain(std::string_view text, bool at_origin, Run& run) const;
  bool begins_origin(std::string_view section) const;
  std::string decoded(Token token, bool first) const;
  bool hidden(Token token, bool show_control) const noexcept;
  void decode_pieces();

  TokenizerParts parts_;
  AddedTokens raw_;         // matched in the text as it is
  AddedTokens normalized_;  // matched in normalized text
  std::vector<bool> control_;
  // What normalization makes of the texts of added tokens that are matched behind it: the reference
  // decodes them so.
  std::map<Token, std::string> renamed_;
  // What the decoder makes of each token; empty: the vocabulary's bytes are that.
  std::string pieces_;
  std::vector<uint32_t> piece_starts_;
};

}  // namespace o3::text
