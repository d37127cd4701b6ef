// SPDX-License-Identifier: Apache-2.0
#include "engine/page_ledger.h"

#include <vector>

namespace o3::engine {
namespace {

int64_t pages_in(int32_t tokens, int32_t page_tokens) {
  return (int64_t{tokens} + page_tokens - 1) / page_tokens;
}

std::vector<Token> tokens_of(const Sequence& sequence, int32_t begin, int32_t end) {
  std::vector<Token> tokens;
  tokens.reserve(static_cast<size_t>(end - begin));
  for (int32_t i = begin; i < end; ++i) tokens.push_back(sequence.token(i));
  return tokens;
}

}  // namespace

PageLedger::PageLedger(cache::BlockPool& pool, bool share_prefixes)
    : pool_(pool), index_(pool), share_prefixes_(share_prefixes) {}

cache::SlotUsage PageLedger::usage() const noexcept {
  const int64_t pinned = index_.pinned_units() * index_.unit_tokens() *
                         static_cast<int64_t>(pool_.layout().groups.size());
  return {.leased = own_usage_.leased + pinned, .written = own_usage_.written + pinned};
}

size_t PageLedger::prefix_pages_in(size_t group, const Sequence& sequence) const {
  return static_cast<size_t>(sequence.prefix_tokens / pool_.layout().groups[group].page_tokens);
}

cache::PrefixMatch PageLedger::find_prefix(const Sequence& sequence) const {
  // Log probabilities of the prompt need its logits.
  const Generate& work = sequence.work();
  if (!share_prefixes_ || !work.reuse_prefix || work.prompt_logprobs) return {};
  const int32_t most = sequence.length() - 1;
  if (sequence.sampled.empty()) {
    return index_.match(sequence.request->domain,
                        std::span(work.prompt).first(static_cast<size_t>(most)));
  }
  return index_.match(sequence.request->domain, tokens_of(sequence, 0, most));
}

void PageLedger::pin(const cache::PrefixMatch& match) {
  if (match.node != nullptr) index_.pin(match.node);
}

void PageLedger::adopt(Sequence& sequence, const cache::PrefixMatch& match, int32_t bound) {
  const auto& groups = pool_.layout().groups;
  // Room for the ids of the whole bound, so that decoding never grows them.
  sequence.tables.resize(groups.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    sequence.tables[g].reserve(static_cast<size_t>(pages_in(bound, groups[g].page_tokens)));
  }
  std::vector<const cache::PrefixNode*> path;
  if (match.node != nullptr) {
    for (const auto* node = match.node; node->depth > 0; node = node->parent) path.push_back(node);
  }
  for (auto node = path.rbegin(); node != path.rend(); ++node) {
    for (size_t g = 0; g < groups.size(); ++g) {
      pool_.share(index_.pages(**node, g), sequence.tables[g]);
    }
  }
  sequence.prefix = match.node;
  sequence.prefix_tokens = match.tokens;
  sequence.filled = match.tokens;
}

void PageLedger::charge(Sequence& sequence, int32_t room) {
  if (room == sequence.room) return;
  const int64_t pages = own_pages_of(sequence, room);
  charged_ += pages - sequence.charge;
  sequence.charge = pages;
  sequence.room = room;
  O3_CHECK(charged() <= total(), "more pages promised than there are");
}

void PageLedger::lease(Sequence& sequence, int32_t tokens) {
  for (size_t g = 0; g < sequence.tables.size(); ++g) {
    const int32_t page_tokens = pool_.layout().groups[g].page_tokens;
    const int64_t lacking =
        pages_in(tokens, page_tokens) - static_cast<int64_t>(sequence.tables[g].size());
    if (lacking <= 0) continue;
    index_.evict(lacking - pool_.free_blocks());
    const auto leased = pool_.extend(sequence.tables[g], static_cast<uint32_t>(lacking));
    O3_CHECK(leased.ok(), "the charge covers every page a running sequence needs");
    own_usage_.leased += lacking * page_tokens;
  }
}

void PageLedger::give_back(Sequence& sequence) {
  charged_ -= sequence.charge;
  sequence.charge = 0;
  sequence.room = 0;
  for (size_t g = 0; g < sequence.tables.size(); ++g) {
    const int64_t own =
        static_cast<int64_t>(sequence.tables[g].size() - prefix_pages_in(g, sequence));
    own_usage_.leased -= own * pool_.layout().groups[g].page_tokens;
    own_usage_.written -= sequence.filled - sequence.prefix_tokens;
  }
  sequence.tables.clear();
  if (sequence.prefix != nullptr) index_.unpin(sequence.prefix);
  sequence.prefix = nullptr;
  sequence.prefix_tokens = 0;
  sequence.filled = 0;
}

void PageLedger::add_written(Sequence& sequence, int32_t rows) {
  sequence.filled += rows;
  own_usage_.written += int64_t{rows} * static_cast<int64_t>(sequence.tables.size());
  // After a failure nobody knows what the pages hold.
  if (!share_prefixes_ || sequence.outcome == Outcome::kError) return;
  while (sequence.filled - sequence.prefix_tokens >= index_.unit_tokens()) publish_next(sequence);
}

// The next unit becomes part of the sequence's prefix: what its charge covered is counted as pinned
// from now on. Where another sequence was first, its pages hold the same and take the place.
void PageLedger::publish_next(Sequence& sequence) {
  const int32_t begin = sequence.prefix_tokens;
  const int32_t unit = index_.unit_tokens();
  std::vector<uint32_t> pages;
  for (size_t g = 0; g < sequence.tables.size(); ++g) {
    const auto count = static_cast<size_t>(unit / pool_.layout().groups[g].page_tokens);
    const auto own = sequence.tables[g].ids().subspan(prefix_pages_in(g, sequence), count);
    pages.insert(pages.end(), own.begin(), own.end());
  }
  cache::PrefixNode* node = index_.publish(sequence.request->domain, sequence.prefix,
                                           tokens_of(sequence, begin, begin + unit), pages);
  if (node->pages.ids().front() != pages.front()) {
    for (size_t g = 0; g < sequence.tables.size(); ++g) {
      pool_.replace(sequence.tables[g], prefix_pages_in(g, sequence), index_.pages(*node, g));
    }
  }
  charged_ -= index_.unit_pages();
  sequence.charge -= index_.unit_pages();
  own_usage_.leased -= int64_t{unit} * static_cast<int64_t>(sequence.tables.size());
  own_usage_.written -= int64_t{unit} * static_cast<int64_t>(sequence.tables.size());
  sequence.prefix = node;
  sequence.prefix_tokens += unit;
}

}  // namespace o3::engine
