// SPDX-License-Identifier: Apache-2.0
#include "cache/prefix_index.h"

#include <algorithm>
#include <random>

namespace o3::cache {

PrefixIndex::PrefixIndex(BlockPool& pool, Hash hash)
    : pool_(pool), hash_(hash), seed_(std::random_device{}()) {
  const auto& groups = pool.layout().groups;
  for (const KvGroup& group : groups) unit_tokens_ = std::max(unit_tokens_, group.page_tokens);
  for (const KvGroup& group : groups) {
    first_page_.push_back(static_cast<size_t>(unit_pages_));
    unit_pages_ += unit_tokens_ / group.page_tokens;  // both are powers of two
  }
  first_page_.push_back(static_cast<size_t>(unit_pages_));
}

std::span<const uint32_t> PrefixIndex::pages(const PrefixNode& node, size_t group) const {
  return node.pages.ids().subspan(first_page_[group], first_page_[group + 1] - first_page_[group]);
}

// A product of 128 bits folded to 64 for each token: each input bit reaches every output bit.
uint64_t PrefixIndex::mix(uint64_t parent, std::span<const Token> tokens) noexcept {
  __extension__ using Wide = unsigned __int128;
  uint64_t h = parent;
  for (const Token token : tokens) {
    const Wide product =
        static_cast<Wide>(h ^ 0x9E3779B97F4A7C15U) * (static_cast<uint32_t>(token) | 1ULL << 40U);
    h = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64U);
    h = (h ^ h >> 29U) * 0xBF58476D1CE4E5B9U;
  }
  return h;
}

PrefixNode* PrefixIndex::find(const PrefixNode& parent, uint64_t hash,
                              std::span<const Token> tokens) const {
  const auto [begin, end] = nodes_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    PrefixNode& node = *it->second;
    if (node.parent == &parent && std::ranges::equal(node.tokens, tokens)) return &node;
  }
  return nullptr;
}

PrefixMatch PrefixIndex::match(const CacheDomain& domain, std::span<const Token> tokens) const {
  const auto root = roots_.find(domain);
  if (root == roots_.end()) return {};
  const auto unit = static_cast<size_t>(unit_tokens_);
  const PrefixNode* at = &root->second;
  PrefixMatch best;
  for (; tokens.size() >= unit; tokens = tokens.subspan(unit)) {
    const auto next = tokens.first(unit);
    PrefixNode* node = find(*at, hash_(at->hash, next), next);
    if (node == nullptr) break;
    best = {.node = node, .tokens = node->depth * unit_tokens_};
    at = node;
  }
  return best;
}

void PrefixIndex::add_pin(PrefixNode& node) {
  if (node.pins++ > 0) return;
  ++pinned_;
  if (node.children == 0) leaves_.erase(node.last_used);
}

void PrefixIndex::pin(PrefixNode* node) {
  for (; node->depth > 0; node = node->parent) add_pin(*node);
}

void PrefixIndex::unpin(PrefixNode* node) {
  ++uses_;
  for (; node->depth > 0; node = node->parent) {
    O3_CHECK(node->pins > 0, "a prefix is unpinned more often than it was pinned");
    node->last_used = uses_;
    if (--node->pins > 0) continue;
    --pinned_;
    if (node->children == 0) leaves_.emplace(node->last_used, node);
  }
}

PrefixNode* PrefixIndex::root_of(const CacheDomain& domain) {
  const auto [place, fresh] = roots_.try_emplace(domain);
  if (fresh) {
    place->second.domain = &place->first;
    place->second.hash = seed_;
  }
  return &place->second;
}

PrefixNode* PrefixIndex::publish(const CacheDomain& domain, PrefixNode* parent,
                                 std::span<const Token> tokens, std::span<const uint32_t> pages) {
  O3_CHECK(std::ssize(tokens) == unit_tokens_ && std::ssize(pages) == unit_pages_,
           "a whole unit is published");
  if (parent == nullptr) parent = root_of(domain);
  const uint64_t hash = hash_(parent->hash, tokens);
  PrefixNode* node = find(*parent, hash, tokens);
  if (node == nullptr) {
    auto made = std::make_unique<PrefixNode>();
    node = made.get();
    node->parent = parent;
    node->hash = hash;
    node->tokens.assign(tokens.begin(), tokens.end());
    node->depth = parent->depth + 1;
    pool_.share(pages, node->pages);
    ++parent->children;
    nodes_.emplace(hash, std::move(made));
  }
  add_pin(*node);
  return node;
}

void PrefixIndex::evict(int64_t pages) {
  for (; pages > 0 && !leaves_.empty(); pages -= unit_pages_) {
    PrefixNode& node = *leaves_.begin()->second;
    leaves_.erase(leaves_.begin());
    drop(node);
  }
}

// Its parent may be the next leaf; a root without children is forgotten.
void PrefixIndex::drop(PrefixNode& node) {
  PrefixNode& parent = *node.parent;
  const auto [begin, end] = nodes_.equal_range(node.hash);
  nodes_.erase(std::find_if(begin, end, [&](const auto& e) { return e.second.get() == &node; }));
  if (--parent.children > 0) return;
  if (parent.depth == 0) {
    roots_.erase(roots_.find(*parent.domain));
  } else if (parent.pins == 0) {
    leaves_.emplace(parent.last_used, &parent);
  }
}

int64_t PinForecast::pin(const PrefixNode* node) {
  int64_t pages = 0;
  for (; node != nullptr && node->depth > 0; node = node->parent) {
    int32_t& change = change_[node];
    if (node->pins + change == 0) pages += index_.unit_pages();
    ++change;
  }
  return pages;
}

int64_t PinForecast::unpin(const PrefixNode* node) {
  int64_t pages = 0;
  for (; node != nullptr && node->depth > 0; node = node->parent) {
    int32_t& change = change_[node];
    --change;
    if (node->pins + change == 0) pages += index_.unit_pages();
  }
  return pages;
}

}  // namespace o3::cache
