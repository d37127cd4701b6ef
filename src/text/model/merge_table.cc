// SPDX-License-Identifier: Apache-2.0
#include "text/model/merge_table.h"

#include <algorithm>
#include <bit>
#include <string>
#include <tuple>

#include "text/byte_alphabet.h"
#include "text/unicode/utf8.h"

namespace o3::text {
namespace {

constexpr size_t kMaxMerges = 1u << 23;
constexpr size_t kMaxScoredBytes = 1024;  // longer tokens are reached by no merge
constexpr const char* kMerges = "tokenizer.ggml.merges";

Error bad_merge(size_t index, const char* why) {
  return invalid("merge " + std::to_string(index) + " " + why, kMerges);
}
Error too_many(size_t count) {
  return invalid("there are " + std::to_string(count) + " merges; at most " +
                     std::to_string(kMaxMerges) + " are allowed",
                 kMerges);
}

bool append_text(std::string_view written, TextForm form, std::string& out) {
  if (form == TextForm::kByteAlphabet) return append_alphabet_bytes(written, out);
  out += written;
  return true;
}

struct ScoredMerge {
  Token left;
  Token right;
  Token token;
  uint16_t left_chars;
  uint16_t right_chars;
};

}  // namespace

Result<std::vector<MergePair>> split_merges(std::span<const std::string_view> merges) {
  if (merges.size() > kMaxMerges) return too_many(merges.size());
  std::vector<MergePair> out;
  out.reserve(merges.size());
  for (size_t i = 0; i < merges.size(); ++i) {
    const size_t space = merges[i].find(' ', 1);
    if (space == std::string_view::npos) return bad_merge(i, "is not two pieces and a space");
    out.emplace_back(merges[i].substr(0, space), merges[i].substr(space + 1));
  }
  return out;
}

Result<MergeTable> MergeTable::build(std::span<const MergePair> merges,
                                     const Vocabulary& vocabulary, size_t prefix_bytes) {
  if (merges.size() > kMaxMerges) return too_many(merges.size());
  MergeTable table;
  table.reserve(merges.size());
  std::string joined;
  for (size_t i = 0; i < merges.size(); ++i) {
    joined.clear();
    if (!append_text(merges[i].first, vocabulary.form(), joined)) {
      return bad_merge(i, "is not written in the byte-level alphabet");
    }
    const size_t left_bytes = joined.size();
    if (!append_text(merges[i].second, vocabulary.form(), joined)) {
      return bad_merge(i, "is not written in the byte-level alphabet");
    }
    std::string_view both = joined;
    if (left_bytes == 0 || left_bytes == both.size()) return bad_merge(i, "has an empty side");
    const auto left = vocabulary.find(both.substr(0, left_bytes));
    const auto right = vocabulary.find(both.substr(left_bytes));
    if (prefix_bytes > 0 && left && right) {
      if (both.size() - left_bytes <= prefix_bytes) return bad_merge(i, "is a prefix alone");
      joined.erase(left_bytes, prefix_bytes);
      both = joined;
    }
    const auto result = vocabulary.find(both);
    if (!left || !right || !result) return bad_merge(i, "names a token the vocabulary lacks");
    // No merge makes a control token of text, nor takes one for text.
    const bool ordinary = vocabulary.is_ordinary(*left) && vocabulary.is_ordinary(*right) &&
                          vocabulary.is_ordinary(*result);
    if (ordinary) table.insert(*left, *right, {static_cast<uint32_t>(i), *result});
  }
  return table;
}

Result<MergeTable> MergeTable::from_scores(std::span<const float> scores,
                                           const Vocabulary& vocabulary) {
  std::vector<ScoredMerge> found;
  std::vector<size_t> cuts;  // where characters of a token begin
  for (Token token = 0; token < vocabulary.size(); ++token) {
    if (vocabulary.kind(token) != TokenKind::kNormal) continue;
    const std::string_view text = vocabulary.bytes(token);
    if (text.size() > kMaxScoredBytes || vocabulary.find(text) != token) continue;
    cuts.clear();
    for (size_t at = 0; at < text.size(); at += next_utf8_unit(text.substr(at)).bytes) {
      cuts.push_back(at);
    }
    for (size_t i = 1; i < cuts.size(); ++i) {
      const auto left = vocabulary.find_ordinary(text.substr(0, cuts[i]));
      if (!left || vocabulary.kind(*left) != TokenKind::kNormal) continue;
      const auto right = vocabulary.find_ordinary(text.substr(cuts[i]));
      if (!right || vocabulary.kind(*right) != TokenKind::kNormal) continue;
      found.push_back(
          {*left, *right, token, static_cast<uint16_t>(i), static_cast<uint16_t>(cuts.size() - i)});
    }
    if (found.size() > kMaxMerges) return too_many(found.size());
  }
  const auto better = [&scores](const ScoredMerge& a, const ScoredMerge& b) {
    return std::tuple(-scores[static_cast<size_t>(a.token)], -a.left_chars, -a.right_chars) <
           std::tuple(-scores[static_cast<size_t>(b.token)], -b.left_chars, -b.right_chars);
  };
  std::stable_sort(found.begin(), found.end(), better);
  MergeTable table;
  table.reserve(found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    table.insert(found[i].left, found[i].right, {static_cast<uint32_t>(i), found[i].token});
  }
  return table;
}

void MergeTable::reserve(size_t merges) {
  const size_t slots = std::bit_ceil(std::max<size_t>(merges * 2, 2));
  slots_.resize(slots);
  mask_ = slots - 1;
  shift_ = 64 - std::countr_zero(slots);
}

void MergeTable::insert(Token left, Token right, Merge merge) noexcept {
  const uint64_t pair = key(left, right);
  size_t slot = home(pair);
  while (slots_[slot].pair != kFree && slots_[slot].pair != pair) slot = (slot + 1) & mask_;
  slots_[slot] = {pair, merge};  // a repeated pair: the last one counts, as in Hugging Face's
}

}  // namespace o3::text
