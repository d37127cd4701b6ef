// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "text/model/byte_trie.h"

namespace o3::text {

// A token whose text is matched as a whole, before the model sees the text.
struct AddedToken {
  std::string text;
  Token token = -1;
  bool special = false;
  bool single_word = false;  // not where a word goes on before or behind it
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // takes the white space behind it
  bool normalized = false;   // matched in normalized text
  // White space in one token, an abbreviation rather than a control token: matched whoever wrote
  // the text.
  bool free = false;
};

// Which characters of a text may become added tokens: ranges, ascending, not touching.
class Trust {
 public:
  struct Range {
    size_t begin;
    size_t end;
  };
  static Trust all() { return Trust(true); }
  static Trust none() { return Trust(false); }

  void add(size_t begin, size_t end) {
    if (begin == end) return;
    if (!ranges_.empty() && ranges_.back().end == begin) {
      ranges_.back().end = end;
    } else {
      ranges_.push_back({begin, end});
    }
  }
  bool everything() const noexcept { return all_; }
  bool nothing() const noexcept { return !all_ && ranges_.empty(); }
  const std::vector<Range>& ranges() const noexcept { return ranges_; }
  // Where the trusted text around `at` ends; `at` itself if it is not trusted.
  size_t end_of(size_t at, size_t text_size) const noexcept;

 private:
  explicit Trust(bool everything) : all_(everything) {}
  bool all_;
  std::vector<Range> ranges_;
};

// Finds added tokens: leftmost, then longest, as the reference's Aho-Corasick machine.
class AddedTokens {
 public:
  AddedTokens() = default;
  explicit AddedTokens(std::vector<AddedToken> tokens);

  bool empty() const noexcept { return tokens_.empty(); }

  struct Match {
    size_t begin;  // of the text it takes, stripped white space included
    size_t end;
    Token token;
  };
  // The first match at or after `from`, which also ends the previous match. `plain_specials`: a
  // special token found is passed over (and nothing inside it is found).
  std::optional<Match> find(std::string_view text, size_t from, const Trust& trust,
                            bool plain_specials) const;

 private:
  struct Hit {
    const AddedToken* token = nullptr;
    size_t bytes = 0;
  };
  Hit longest(std::string_view text, size_t at, size_t trusted_end) const noexcept;

  std::vector<AddedToken> tokens_;
  ByteTrie trie_;  // values are places in tokens_
  std::array<bool, 256> begins_{};
};

}  // namespace o3::text
