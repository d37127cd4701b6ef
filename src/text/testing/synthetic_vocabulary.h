// SPDX-License-Identifier: Apache-2.0
// For tests and fuzzers: a small byte-level vocabulary that owns its strings.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "text/byte_alphabet.h"
#include "text/tokenizer_spec.h"
#include "text/unicode/utf8.h"

namespace o3::text {

// Token ids: first the added tokens in their order, then bytes 0..255, then one per merge.
class SyntheticVocabulary {
 public:
  explicit SyntheticVocabulary(
      std::initializer_list<std::pair<std::string, TokenKind>> added = {}) {
    for (const auto& [text, kind] : added) push(text, kind);
    first_byte_ = static_cast<Token>(tokens_.size());
    for (unsigned byte = 0; byte < 256; ++byte) {
      push(written(std::string(1, static_cast<char>(byte))), TokenKind::kNormal);
    }
  }

  // Adds the merge of two raw byte strings and the token it makes.
  void merge(std::string_view left, std::string_view right) {
    merges_.push_back(written(left) + ' ' + written(right));
    push(written(left) + written(right), TokenKind::kNormal);
  }

  Token byte(char c) const { return first_byte_ + static_cast<uint8_t>(c); }
  Token merged(size_t index) const { return first_byte_ + 256 + static_cast<Token>(index); }

  // Views this object.
  TokenizerSpec spec() const {
    TokenizerSpec out;
    out.model = "gpt2";
    out.pre = "smollm";
    out.tokens.assign(tokens_.begin(), tokens_.end());
    out.kinds = kinds_;
    out.merges.assign(merges_.begin(), merges_.end());
    return out;
  }

  static std::string written(std::string_view bytes) {
    std::string out;
    for (const char c : bytes) append_utf8(alphabet_character(static_cast<uint8_t>(c)), out);
    return out;
  }

 private:
  void push(std::string text, TokenKind kind) {
    tokens_.push_back(std::move(text));
    kinds_.push_back(static_cast<int32_t>(kind));
  }

  std::vector<std::string> tokens_;
  std::vector<int32_t> kinds_;
  std::vector<std::string> merges_;
  Token first_byte_ = 0;
};

}  // namespace o3::text
