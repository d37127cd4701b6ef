// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace o3::text {

// Appends the tokens of the bytes of a character that has none itself (`of_byte` as
// Vocabulary::byte_tokens() gives them); false, and nothing appended, unless each byte has one.
inline bool append_byte_tokens(std::string_view bytes, std::span<const Token> of_byte,
                               std::vector<Token>& out) {
  const size_t before = out.size();
  for (const char c : bytes) {
    const Token token = of_byte.empty() ? -1 : of_byte[static_cast<uint8_t>(c)];
    if (token < 0) {
      out.resize(before);
      return false;
    }
    out.push_back(token);
  }
  return true;
}

// Encodes the pieces of one text; holds scratch memory, so one per thread. Views its model.
class PieceEncoder {
 public:
  virtual ~PieceEncoder() = default;
  // Appends the tokens of a piece, which is not empty.
  virtual void encode(std::string_view piece, std::vector<Token>& out) = 0;
};

// What turns pieces into tokens. Immutable, shared by threads.
class TokenModel {
 public:
  virtual ~TokenModel() = default;
  // For a text of about so many bytes.
  virtual std::unique_ptr<PieceEncoder> encoder(size_t bytes) const = 0;
  // A bound that costs little: the piece becomes at least so many tokens.
  virtual size_t fewest(std::string_view /*piece*/) const noexcept { return 0; }
  // Of text that no token covers.
  virtual std::optional<Token> unknown() const noexcept = 0;
  // Calls mark[token] = true for the tokens that ordinary text can become, as far as they are more
  // than an added token's text (see AddedTokens).
  virtual void mark_made(std::vector<bool>& mark) const = 0;
};

}  // namespace o3::text
