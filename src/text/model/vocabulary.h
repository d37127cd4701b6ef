// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "text/tokenizer_spec.h"

namespace o3::text {

// How the texts of a vocabulary are written.
enum class TextForm : uint8_t {
  kPlain,
  kByteAlphabet,  // text/byte_alphabet.h; a text with other characters stands for itself
};

// Normal tokens of the same text.
enum class Alike : uint8_t {
  kRefused,
  kFirstCounts,  // text becomes the first
};

// The tokens of a model, byte-level ones as raw bytes: one arena, and an open-addressing index from
// bytes to id.
class Vocabulary {
 public:
  // kInvalid: too many or too long tokens, two normal tokens alike (if they may not be).
  static Result<Vocabulary> build(std::span<const std::string_view> texts,
                                  std::span<const TokenKind> kinds, TextForm form,
                                  Alike alike = Alike::kRefused);

  int32_t size() const noexcept { return static_cast<int32_t>(kinds_.size()); }
  TextForm form() const noexcept { return form_; }
  bool contains(Token token) const noexcept {
    return token >= 0 && token < size() && kind(token) != TokenKind::kAbsent;
  }
  TokenKind kind(Token token) const noexcept { return kinds_[static_cast<size_t>(token)]; }
  std::string_view bytes(Token token) const noexcept {
    const auto index = static_cast<size_t>(token);
    return std::string_view(arena_).substr(starts_[index], starts_[index + 1] - starts_[index]);
  }

  size_t text_bytes() const noexcept { return arena_.size(); }  // of all tokens

  // As the file has it.
  std::string written(Token token) const;

  // A normal token before any other of the same bytes.
  std::optional<Token> find(std::string_view bytes) const noexcept;
  // Tokens that a model may make of text: normal and user-defined ones, and of a byte-level
  // vocabulary only those written in the byte alphabet.
  std::optional<Token> find_ordinary(std::string_view bytes) const noexcept;
  bool is_ordinary(Token token) const noexcept { return ordinary_[static_cast<size_t>(token)]; }
  // "<0x0A>" of each byte, -1 where there is none; empty if there are none at all.
  std::vector<Token> byte_tokens() const;

 private:
  Result<void> fill(std::span<const std::string_view> texts);
  Result<void> index_tokens(Alike alike);
  size_t slot_of(std::string_view bytes, uint32_t hash) const noexcept;

  struct Slot {
    Token token = -1;   // -1: free
    uint32_t hash = 0;  // saves most looks into the arena
  };

  TextForm form_ = TextForm::kPlain;
  std::string arena_;
  std::vector<uint32_t> starts_;  // size() + 1
  std::vector<TokenKind> kinds_;
  std::vector<bool> ordinary_;  // by id: see find_ordinary()
  std::vector<Slot> slots_;     // a power of two, at most half full
};

}  // namespace o3::text
