// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace o3::text {

// Remembers what short pieces of one text became: a few words are most of a text. Direct-mapped, so
// a lookup costs one cache line or two and nothing is ever evicted by age.
class PieceCache {
 public:
  explicit PieceCache(size_t bytes) : entries_(bytes >= kWorthwhile ? kEntries : 0) {}

  // A view into the cache, valid until put(); empty: not known.
  std::span<const Token> find(std::string_view piece) const noexcept {
    if (entries_.empty() || piece.size() > kMaxBytes) return {};
    const Entry& entry = entries_[slot(piece)];
    const bool same = entry.bytes == piece.size() &&
                      std::memcmp(entry.text.data(), piece.data(), piece.size()) == 0;
    return same ? std::span(entry.tokens.data(), entry.count) : std::span<const Token>();
  }
  void put(std::string_view piece, std::span<const Token> tokens) noexcept {
    const bool fits = piece.size() <= kMaxBytes && tokens.size() <= kMaxTokens && !tokens.empty();
    if (entries_.empty() || !fits) return;
    Entry& entry = entries_[slot(piece)];
    entry.bytes = static_cast<uint8_t>(piece.size());
    entry.count = static_cast<uint8_t>(tokens.size());
    std::memcpy(entry.text.data(), piece.data(), piece.size());
    std::memcpy(entry.tokens.data(), tokens.data(), tokens.size_bytes());
  }

 private:
  static constexpr size_t kEntries = 8192;
  static constexpr size_t kWorthwhile = 16384;  // shorter texts do not repay clearing it
  static constexpr size_t kMaxBytes = 30;
  static constexpr size_t kMaxTokens = 8;
  struct Entry {
    uint8_t bytes = 0;
    uint8_t count = 0;
    std::array<char, kMaxBytes> text{};
    std::array<Token, kMaxTokens> tokens{};
  };
  static size_t slot(std::string_view piece) noexcept {
    return std::hash<std::string_view>{}(piece) % kEntries;
  }

  std::vector<Entry> entries_;
};

}  // namespace o3::text
