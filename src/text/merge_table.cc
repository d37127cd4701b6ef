// SPDX-License-Identifier: Apache-2.0
#include "text/merge_table.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>

#include "text/byte_alphabet.h"

namespace o3::text {
namespace {

constexpr size_t kMaxMerges = 1u << 23;

Error bad_merge(size_t index, const char* why) {
  return invalid("merge " + std::to_string(index) + " " + why, "tokenizer.ggml.merges");
}

}  // namespace

Result<MergeTable> MergeTable::build(std::span<const std::string_view> merges,
                                     const Vocabulary& vocabulary) {
  if (merges.size() > kMaxMerges) {
    return invalid("there are " + std::to_string(merges.size()) + " merges; at most " +
                       std::to_string(kMaxMerges) + " are allowed",
                   "tokenizer.ggml.merges");
  }
  MergeTable table;
  const size_t slots = std::bit_ceil(std::max<size_t>(merges.size() * 2, 2));
  table.slots_.resize(slots);
  table.mask_ = slots - 1;
  table.shift_ = 64 - std::countr_zero(slots);

  std::string joined;
  for (size_t i = 0; i < merges.size(); ++i) {
    const std::string_view merge = merges[i];
    const size_t space = merge.find(' ');
    if (space == std::string_view::npos) return bad_merge(i, "is not two pieces and a space");
    joined.clear();
    if (!append_alphabet_bytes(merge.substr(0, space), joined)) {
      return bad_merge(i, "is not written in the byte-level alphabet");
    }
    const size_t left_bytes = joined.size();
    if (!append_alphabet_bytes(merge.substr(space + 1), joined)) {
      return bad_merge(i, "is not written in the byte-level alphabet");
    }
    const std::string_view both = joined;
    const auto left = vocabulary.find_ordinary(both.substr(0, left_bytes));
    const auto right = vocabulary.find_ordinary(both.substr(left_bytes));
    const auto result = vocabulary.find_ordinary(both);
    if (!left || !right || !result) return bad_merge(i, "names a token the vocabulary lacks");
    if (left_bytes == 0 || left_bytes == both.size()) return bad_merge(i, "has an empty side");
    table.insert(*left, *right, {static_cast<uint32_t>(i), *result});
  }
  return table;
}

void MergeTable::insert(Token left, Token right, Merge merge) noexcept {
  const uint64_t pair = key(left, right);
  size_t slot = home(pair);
  while (slots_[slot].pair != kFree && slots_[slot].pair != pair) slot = (slot + 1) & mask_;
  slots_[slot] = {pair, merge};  // a repeated pair: the last one counts, as in Hugging Face's
}

}  // namespace o3::text
