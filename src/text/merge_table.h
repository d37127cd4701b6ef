// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "text/vocabulary.h"

namespace o3::text {

inline constexpr uint32_t kNoMerge = UINT32_MAX;

struct Merge {
  uint32_t rank = kNoMerge;  // lower merges first
  Token token = -1;          // what the pair becomes
};

// Which pairs of tokens BPE joins: an open-addressing table, one cache line per look-up mostly.
class MergeTable {
 public:
  // `merges` are "left right" in the byte alphabet, best first. kInvalid names the first bad one.
  static Result<MergeTable> build(std::span<const std::string_view> merges,
                                  const Vocabulary& vocabulary);

  Merge find(Token left, Token right) const noexcept {
    const uint64_t wanted = key(left, right);
    for (size_t slot = home(wanted);; slot = (slot + 1) & mask_) {
      if (slots_[slot].pair == wanted) return slots_[slot].merge;
      if (slots_[slot].pair == kFree) return {};
    }
  }

 private:
  struct Slot {
    uint64_t pair = kFree;
    Merge merge;
  };
  static constexpr uint64_t kFree = UINT64_MAX;  // no pair: token ids are below 2^31

  static uint64_t key(Token left, Token right) noexcept {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  // Fibonacci hashing (Knuth, TAOCP 6.4): the high bits of the product are well mixed.
  size_t home(uint64_t pair) const noexcept {
    return static_cast<size_t>((pair * 0x9E3779B97F4A7C15u) >> shift_);
  }
  void insert(Token left, Token right, Merge merge) noexcept;

  std::vector<Slot> slots_;
  size_t mask_ = 0;
  int shift_ = 0;
};

}  // namespace o3::text
