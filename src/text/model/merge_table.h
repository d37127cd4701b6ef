// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "text/model/vocabulary.h"

namespace o3::text {

inline constexpr uint32_t kNoMerge = UINT32_MAX;

struct Merge {
  uint32_t rank = kNoMerge;  // lower merges first
  Token token = -1;          // what the pair becomes
};

// Two texts as a file writes them: in the byte alphabet for a byte-level vocabulary.
using MergePair = std::pair<std::string_view, std::string_view>;
// "left right": cut at the first space that is not the first byte.
Result<std::vector<MergePair>> split_merges(std::span<const std::string_view> merges);

// Which pairs of tokens BPE joins: an open-addressing table, one cache line per look-up mostly.
class MergeTable {
 public:
  // Best first. kInvalid names the first bad one. The joined token has the right one's text without
  // its first `prefix_bytes` bytes (BPE's continuing_subword_prefix).
  static Result<MergeTable> build(std::span<const MergePair> merges, const Vocabulary& vocabulary,
                                  size_t prefix_bytes = 0);
  // A vocabulary that has scores instead (SentencePiece): every way to cut a token into two, best
  // score first, then the longest left part.
  static Result<MergeTable> from_scores(std::span<const float> scores,
                                        const Vocabulary& vocabulary);

  Merge find(Token left, Token right) const noexcept {
    const uint64_t wanted = key(left, right);
    for (size_t slot = home(wanted);; slot = (slot + 1) & mask_) {
      if (slots_[slot].pair == wanted) return slots_[slot].merge;
      if (slots_[slot].pair == kFree) return {};
    }
  }
  // Calls visit(token) for each token that a merge makes.
  template <class Visit>
  void for_each_result(Visit visit) const {
    for (const Slot& slot : slots_) {
      if (slot.pair != kFree) visit(slot.merge.token);
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
  void reserve(size_t merges);
  void insert(Token left, Token right, Merge merge) noexcept;

  std::vector<Slot> slots_;
  size_t mask_ = 0;
  int shift_ = 0;
};

}  // namespace o3::text
