// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "text/vocabulary.h"

namespace o3::text {

// Finds the texts of control and user-defined tokens, the longest one that begins at a position.
// Views the vocabulary, which must outlive it.
class AddedTokens {
 public:
  explicit AddedTokens(const Vocabulary& vocabulary);

  struct Match {
    Token token = -1;
    size_t bytes = 0;  // 0: none begins here
  };
  Match longest(std::string_view text) const noexcept;

  // First position at or after `from` where a match may begin, text.size() if none.
  size_t next_candidate(std::string_view text, size_t from) const noexcept;

 private:
  struct Entry {
    std::string_view text;
    Token token;
  };
  std::vector<Entry> entries_;  // sorted by text: common prefixes stand together
  std::array<bool, 256> begins_{};
};

}  // namespace o3::text
