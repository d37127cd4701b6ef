// SPDX-License-Identifier: Apache-2.0
#include "text/added_tokens.h"

#include <algorithm>
#include <cstdint>

namespace o3::text {

AddedTokens::AddedTokens(const Vocabulary& vocabulary) {
  for (Token token = 0; token < vocabulary.size(); ++token) {
    if (vocabulary.is_added(token)) entries_.push_back({vocabulary.bytes(token), token});
  }
  // Of equal texts the lowest id stays.
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.text < b.text; });
  const auto repeated =
      std::unique(entries_.begin(), entries_.end(),
                  [](const Entry& a, const Entry& b) { return a.text == b.text; });
  entries_.erase(repeated, entries_.end());
  for (const Entry& entry : entries_) begins_[static_cast<uint8_t>(entry.text[0])] = true;
}

size_t AddedTokens::next_candidate(std::string_view text, size_t from) const noexcept {
  while (from < text.size() && !begins_[static_cast<uint8_t>(text[from])]) ++from;
  return from;
}

// Walks the sorted list as a trie: after d bytes [low, high) are the entries that agree in them.
AddedTokens::Match AddedTokens::longest(std::string_view text) const noexcept {
  Match best;
  auto low = entries_.begin();
  auto high = entries_.end();
  for (size_t depth = 0; low != high && depth < text.size(); ++depth) {
    const auto byte = static_cast<uint8_t>(text[depth]);
    const auto at = [depth](const Entry& e) { return static_cast<uint8_t>(e.text[depth]); };
    // An entry that ends here is the first of its range; it has no byte at this depth.
    if (low->text.size() == depth) ++low;
    low = std::lower_bound(low, high, byte, [&](const Entry& e, uint8_t b) { return at(e) < b; });
    high = std::upper_bound(low, high, byte, [&](uint8_t b, const Entry& e) { return b < at(e); });
    if (low != high && low->text.size() == depth + 1) best = {low->token, depth + 1};
  }
  return best;
}

}  // namespace o3::text
