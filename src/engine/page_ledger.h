// SPDX-License-Identifier: Apache-2.0
// Who holds, and who is promised, which pages of a pool: charges, leases, shared prefixes, slots.
// Engine thread only. Only Scheduler::commit() and complete() change it.
#pragma once

#include <cstdint>

#include "cache/block_pool.h"
#include "cache/prefix_index.h"
#include "cache/slot_usage.h"
#include "engine/sequence.h"

namespace o3::engine {

// Pages of a sequence are its own, covered by its charge, or belong to its prefix: known units of
// tokens that it shares and pins, which are counted once however many sequences pin them. Charges
// and pinned units together stay within the pool. Units that nobody pins hold pages as well, until
// a lease needs them: they are as good as free.
class PageLedger {
 public:
  // The pool must outlive the ledger and serve nobody else. Without `share_prefixes` no page is
  // ever found again.
  PageLedger(cache::BlockPool& pool, bool share_prefixes);

  int64_t pages_of(int32_t tokens) const { return cache::pages_for(pool_.layout(), tokens); }
  // Of those, what is not its prefix's.
  int64_t own_pages_of(const Sequence& sequence, int32_t tokens) const {
    return pages_of(tokens) - prefix_pages(sequence.prefix_tokens);
  }
  int64_t prefix_pages(int32_t prefix_tokens) const {
    return int64_t{prefix_tokens / index_.unit_tokens()} * index_.unit_pages();
  }

  int64_t total() const noexcept { return pool_.total_blocks(); }
  int64_t charged() const noexcept { return charged_ + pinned(); }  // never more than total()
  int64_t pinned() const noexcept { return index_.pinned_units() * index_.unit_pages(); }
  int64_t cached() const noexcept { return index_.evictable_pages(); }
  int64_t used() const noexcept { return total() - pool_.free_blocks() - cached(); }
  cache::SlotUsage usage() const noexcept;  // units that are cached only count as free
  cache::PinForecast forecast() const { return cache::PinForecast(index_); }

  // What of the tokens of a waiting sequence is known; at least its last one is always computed.
  cache::PrefixMatch find_prefix(const Sequence& sequence) const;

  // ---- commit ----
  // Keeps the units of a match from being given up; adopt() follows.
  void pin(const cache::PrefixMatch& match);
  // The sequence gets its tables, which begin with the pinned match.
  void adopt(Sequence& sequence, const cache::PrefixMatch& match, int32_t bound);
  void charge(Sequence& sequence, int32_t room);
  void lease(Sequence& sequence, int32_t tokens);  // what the tables lack to hold so many tokens
  void give_back(Sequence& sequence);              // all it holds

  // ---- complete ----
  void add_written(Sequence& sequence, int32_t rows);

 private:
  size_t prefix_pages_in(size_t group, const Sequence& sequence) const;
  void publish_next(Sequence& sequence);

  cache::BlockPool& pool_;
  cache::PrefixIndex index_;
  const bool share_prefixes_;
  int64_t charged_ = 0;
  cache::SlotUsage own_usage_;  // of the pages that sequences have for themselves
};

}  // namespace o3::engine
