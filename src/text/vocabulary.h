// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "text/tokenizer_spec.h"

namespace o3::text {

// The tokens of a byte-level vocabulary as raw bytes: one arena, and an open-addressing index from
// bytes to id.
class Vocabulary {
 public:
  // kInvalid: too many or too long tokens, kinds that do not fit, two normal tokens alike.
  static Result<Vocabulary> build(const TokenizerSpec& spec);

  int32_t size() const noexcept { return static_cast<int32_t>(kinds_.size()); }
  bool contains(Token token) const noexcept { return token >= 0 && token < size(); }
  TokenKind kind(Token token) const noexcept { return kinds_[static_cast<size_t>(token)]; }
  std::string_view bytes(Token token) const noexcept {
    const auto index = static_cast<size_t>(token);
    return std::string_view(arena_).substr(starts_[index], starts_[index + 1] - starts_[index]);
  }
  // Whole texts of these are matched before BPE, and BPE never makes them.
  bool is_added(Token token) const noexcept {
    const TokenKind k = kind(token);
    return k == TokenKind::kControl || k == TokenKind::kUserDefined || k == TokenKind::kUnknown;
  }

  // A normal token before any other of the same bytes.
  std::optional<Token> find(std::string_view bytes) const noexcept;
  // Tokens that BPE may make: normal, and written in the byte alphabet.
  std::optional<Token> find_ordinary(std::string_view bytes) const noexcept;

 private:
  Result<void> set_kinds(const TokenizerSpec& spec);
  void fill_arena(const TokenizerSpec& spec);
  Result<void> index_tokens();
  size_t slot_of(std::string_view bytes) const noexcept;  // its slot, or the free one for it

  std::string arena_;
  std::vector<uint32_t> starts_;  // size() + 1
  std::vector<TokenKind> kinds_;
  std::vector<bool> alphabetic_;  // was written in the byte alphabet
  std::vector<Token> slots_;      // a power of two, at most half full; -1: free
};

}  // namespace o3::text
