// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding of one piece (Sennrich et al. 2016): again and again the adjacent pair of the
// lowest rank is joined, the leftmost first.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "text/model/merge_table.h"

namespace o3::text {

// Merges the symbols of one piece. Keeps its scratch memory between pieces; one per thread.
class BpeMerger {
 public:
  explicit BpeMerger(const MergeTable& merges) : merges_(&merges) {}

  // `symbols` holds the tokens of the piece's bytes; afterwards what they merge into.
  void merge(std::vector<Token>& symbols);

  // The two ways merge() chooses from, of equal result. Short pieces: a scan per merge, quadratic.
  // Long ones: a linked list and a heap, n log n time, 28 bytes per symbol.
  void merge_by_scan(std::vector<Token>& symbols);
  void merge_by_heap(std::vector<Token>& symbols);

 private:
  struct Node {
    uint32_t before;
    uint32_t after;
  };
  uint32_t rank_after(const std::vector<Token>& symbols, uint32_t at) const noexcept;
  void push(const std::vector<Token>& symbols, uint32_t at);
  void join(std::vector<Token>& symbols, uint32_t at, Token token);

  const MergeTable* merges_;
  std::vector<Merge> pairs_;     // scan: the merge of symbols i and i + 1
  std::vector<Node> nodes_;      // heap: the list; kEnd closes it, kGone marks a joined symbol
  std::vector<uint64_t> queue_;  // heap: rank << 32 | position, smallest on top
};

}  // namespace o3::text
