// SPDX-License-Identifier: Apache-2.0
// A tokenizer's vocabulary, arranged once so that a mask over all of it takes microseconds.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/json/json_machine.h"
#include "text/tokenizer.h"

namespace o3::text {

// Tokens as a byte trie, flattened in preorder: a subtree that a state refuses is skipped in one
// step.
class TokenTrie {
 public:
  explicit TokenTrie(std::vector<std::pair<std::string_view, Token>> tokens);

  // Sets the bit of every token that can follow `state`.
  void mark(const JsonMachine& machine, const JsonState& state, std::span<uint32_t> bits) const;

 private:
  struct Node {
    uint32_t end;          // first node behind the subtree
    uint32_t first_token;  // tokens_ of this node, up to those of the next
    uint8_t byte;
    uint8_t depth;  // bytes above this one
  };

  std::vector<Node> nodes_;  // and one at the end, for its first_token
  std::vector<Token> tokens_;
};

// Immutable; any thread may read it. Share one per tokenizer.
class JsonVocabulary {
 public:
  // kUnsupported when the tokenizer has no end token, or lacks single-byte tokens that every JSON
  // text could need.
  static Result<std::shared_ptr<const JsonVocabulary>> create(const Tokenizer& tokenizer);

  // Sets exactly the bits of the tokens that can follow `state`; words beyond the vocabulary
  // become 0. The end token is not among them.
  void fill(const JsonMachine& machine, const JsonState& state, std::span<uint32_t> bits) const;

  // Bytes of a token; empty for those that JSON text never holds (control, empty, out of range).
  std::string_view bytes(Token token) const noexcept;
  Token end() const noexcept { return end_; }
  size_t words() const noexcept { return in_text_.size(); }

 private:
  JsonVocabulary(std::vector<std::string> texts, Token end);
  static Result<void> check_coverage(const std::vector<std::string>& texts);

  std::vector<std::string> texts_;  // by token id
  Token end_;
  std::vector<uint32_t> in_text_;  // allowed inside any string: no quote, no backslash
  TokenTrie all_;
  TokenTrie special_in_text_;  // the others that may stand inside a string
};

}  // namespace o3::text
