// SPDX-License-Identifier: Apache-2.0
// Pages that hold known tokens, kept so that a sequence which begins with the same tokens finds
// them: a tree per CacheDomain (base/ids.h) whose nodes are units of tokens. Design section 5.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "cache/block_pool.h"

namespace o3::cache {

// Its pages are immutable. A root (one per domain) has depth 0, no tokens and no pages.
struct PrefixNode {
  PrefixNode* parent = nullptr;
  const CacheDomain* domain = nullptr;  // of a root
  uint64_t hash = 0;                    // of all tokens from the root on
  std::vector<Token> tokens;            // one unit
  BlockLease pages;                     // of the first KV group, then of the next ...
  int32_t depth = 0;                    // units from the root
  int32_t pins = 0;                     // sequences that use this node or one below it
  int32_t children = 0;
  uint64_t last_used = 0;
};

struct PrefixMatch {
  PrefixNode* node = nullptr;  // null: nothing is known
  int32_t tokens = 0;
};

// Engine thread only. The pool must outlive the index. Nodes that are pinned stay; the others are
// given up, the least recently used first, when the pool needs their pages. Pins go from a node to
// its root, so that whatever is above a pinned node is pinned as well.
class PrefixIndex {
 public:
  // A hash never decides that two units are the same; tests pass one that collides.
  using Hash = uint64_t (*)(uint64_t parent, std::span<const Token> tokens) noexcept;

  explicit PrefixIndex(BlockPool& pool, Hash hash = &mix);
  PrefixIndex(const PrefixIndex&) = delete;
  PrefixIndex& operator=(const PrefixIndex&) = delete;

  // Tokens of a node: the most that a page of any group holds, so that each is whole pages of all.
  int32_t unit_tokens() const noexcept { return unit_tokens_; }
  int32_t unit_pages() const noexcept { return unit_pages_; }
  // A node's pages of one group, in their order.
  std::span<const uint32_t> pages(const PrefixNode& node, size_t group) const;

  // The longest known beginning of `tokens`, in whole units.
  PrefixMatch match(const CacheDomain& domain, std::span<const Token> tokens) const;

  void pin(PrefixNode* node);
  void unpin(PrefixNode* node);

  // Makes the unit behind `parent` (null: the domain's first) known and pins it alone; the parent
  // is pinned. `pages`: the lease's, by group. When the unit is known already nothing changes but
  // the pin, and the node's pages are not those given.
  PrefixNode* publish(const CacheDomain& domain, PrefixNode* parent, std::span<const Token> tokens,
                      std::span<const uint32_t> pages);

  // Gives up unpinned nodes until `pages` pages have come free, or none is left.
  void evict(int64_t pages);

  int64_t pinned_units() const noexcept { return pinned_; }
  int64_t evictable_pages() const noexcept {
    return (static_cast<int64_t>(nodes_.size()) - pinned_) * unit_pages_;
  }

  static uint64_t mix(uint64_t parent, std::span<const Token> tokens) noexcept;

 private:
  PrefixNode* find(const PrefixNode& parent, uint64_t hash, std::span<const Token> tokens) const;
  PrefixNode* root_of(const CacheDomain& domain);
  void add_pin(PrefixNode& node);
  void drop(PrefixNode& node);

  BlockPool& pool_;
  Hash hash_;
  int32_t unit_tokens_ = 0;
  int32_t unit_pages_ = 0;
  std::vector<size_t> first_page_;  // by group: where its pages begin in a node's
  uint64_t seed_;                   // so that nobody can choose tokens whose hashes collide
  std::map<CacheDomain, PrefixNode> roots_;
  std::unordered_multimap<uint64_t, std::unique_ptr<PrefixNode>> nodes_;  // by hash
  std::map<uint64_t, PrefixNode*> leaves_;  // unpinned ones without children, by last_used
  uint64_t uses_ = 0;
  int64_t pinned_ = 0;  // nodes with pins, roots aside
};

// What pins would change, for a plan that must not change anything.
class PinForecast {
 public:
  explicit PinForecast(const PrefixIndex& index) : index_(index) {}

  int64_t pin(const PrefixNode* node);    // pages that were unpinned until now
  int64_t unpin(const PrefixNode* node);  // pages that nobody pins any more

 private:
  const PrefixIndex& index_;
  std::unordered_map<const PrefixNode*, int32_t> change_;
};

}  // namespace o3::cache
