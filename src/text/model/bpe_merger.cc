// SPDX-License-Identifier: Apache-2.0
#include "text/model/bpe_merger.h"

#include <algorithm>
#include <cstddef>
#include <functional>

#include "base/check.h"

namespace o3::text {
namespace {

constexpr size_t kScanLimit = 48;  // measured: the scan is faster up to about this many symbols
constexpr uint32_t kEnd = UINT32_MAX;
constexpr uint32_t kGone = UINT32_MAX - 1;

}  // namespace

void BpeMerger::merge(std::vector<Token>& symbols) {
  if (symbols.size() <= kScanLimit) {
    merge_by_scan(symbols);
  } else {
    merge_by_heap(symbols);
  }
}

void BpeMerger::merge_by_scan(std::vector<Token>& symbols) {
  pairs_.clear();
  for (size_t i = 0; i + 1 < symbols.size(); ++i) {
    pairs_.push_back(merges_->find(symbols[i], symbols[i + 1]));
  }
  while (!pairs_.empty()) {
    // min_element gives the first of equals: the leftmost.
    const auto best =
        std::min_element(pairs_.begin(), pairs_.end(),
                         [](const Merge& a, const Merge& b) { return a.rank < b.rank; });
    if (best->rank == kNoMerge) return;
    const auto at = best - pairs_.begin();
    symbols[static_cast<size_t>(at)] = best->token;
    symbols.erase(symbols.begin() + at + 1);
    pairs_.erase(best);
    const auto index = static_cast<size_t>(at);
    if (index < pairs_.size()) pairs_[index] = merges_->find(symbols[index], symbols[index + 1]);
    if (index > 0) pairs_[index - 1] = merges_->find(symbols[index - 1], symbols[index]);
  }
}

uint32_t BpeMerger::rank_after(const std::vector<Token>& symbols, uint32_t at) const noexcept {
  const uint32_t after = nodes_[at].after;
  if (after == kEnd || after == kGone) return kNoMerge;
  return merges_->find(symbols[at], symbols[after]).rank;
}

void BpeMerger::push(const std::vector<Token>& symbols, uint32_t at) {
  const uint32_t rank = rank_after(symbols, at);
  if (rank == kNoMerge) return;
  queue_.push_back(static_cast<uint64_t>(rank) << 32 | at);
  std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
}

void BpeMerger::join(std::vector<Token>& symbols, uint32_t at, Token token) {
  const uint32_t eaten = nodes_[at].after;
  const uint32_t after = nodes_[eaten].after;
  symbols[at] = token;
  nodes_[at].after = after;
  nodes_[eaten].after = kGone;
  if (after != kEnd) nodes_[after].before = at;
}

void BpeMerger::merge_by_heap(std::vector<Token>& symbols) {
  O3_CHECK(symbols.size() < kGone, "a piece is bounded by the request's size");
  const auto count = static_cast<uint32_t>(symbols.size());
  nodes_.clear();
  queue_.clear();
  for (uint32_t i = 0; i < count; ++i) {
    nodes_.push_back({i == 0 ? kEnd : i - 1, i + 1 == count ? kEnd : i + 1});
  }
  for (uint32_t i = 0; i + 1 < count; ++i) {
    const uint32_t rank = rank_after(symbols, i);
    if (rank != kNoMerge) queue_.push_back(static_cast<uint64_t>(rank) << 32 | i);
  }
  std::make_heap(queue_.begin(), queue_.end(), std::greater<>());

  while (!queue_.empty()) {
    const auto rank = static_cast<uint32_t>(queue_.front() >> 32);
    const auto at = static_cast<uint32_t>(queue_.front());
    std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
    queue_.pop_back();
    // Entries are not removed when a neighbour changes; a stale one no longer has its rank.
    if (rank_after(symbols, at) != rank) continue;
    join(symbols, at, merges_->find(symbols[at], symbols[nodes_[at].after]).token);
    push(symbols, at);
    if (nodes_[at].before != kEnd) push(symbols, nodes_[at].before);
  }
  size_t kept = 0;
  for (uint32_t at = count == 0 ? kEnd : 0; at != kEnd; at = nodes_[at].after) {
    symbols[kept++] = symbols[at];
  }
  symbols.resize(kept);
}

}  // namespace o3::text
