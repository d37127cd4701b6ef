// SPDX-License-Identifier: Apache-2.0
#include "cache/block_pool.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "base/bytes.h"

namespace o3::cache {

struct BlockPool::State {
  device::Buffer memory;
  PageLayout layout;
  uint32_t total = 0;
  // A stack: the page returned last is taken first, while it is warm. Its capacity is `total` from
  // the start, so that returning never allocates.
  std::vector<uint32_t> free;
  std::vector<uint32_t> holders;  // [total], leases that hold the page; 0: it is free
  std::atomic<uint32_t> free_count{0};
};

BlockLease::BlockLease(BlockLease&& other) noexcept
    : pool_(other.pool_), ids_(std::exchange(other.ids_, {})) {}

BlockLease& BlockLease::operator=(BlockLease&& other) noexcept {
  if (this != &other) {
    release();
    pool_ = other.pool_;
    ids_ = std::exchange(other.ids_, {});
  }
  return *this;
}

void BlockLease::append(BlockLease&& more) {
  O3_CHECK(this != &more, "a lease appended to itself");
  if (more.ids_.empty()) return;
  O3_CHECK(ids_.empty() || pool_ == more.pool_, "leases of two pools cannot be joined");
  pool_ = more.pool_;
  ids_.insert(ids_.end(), more.ids_.begin(), more.ids_.end());
  more.ids_.clear();
}

void BlockLease::release() noexcept {
  if (ids_.empty()) return;
  pool_->give_back(ids_);
  ids_.clear();
}

BlockPool::BlockPool(std::unique_ptr<State> state) : state_(std::move(state)) {}

BlockPool::~BlockPool() {
  O3_CHECK(state_->free.size() == state_->total, "the pool must outlive its leases");
}

Result<std::unique_ptr<BlockPool>> BlockPool::create(device::Backend& backend, PageLayout layout,
                                                     uint32_t blocks) {
  if (blocks == 0) return invalid("a KV pool needs at least one page");
  if (layout.page_bytes <= 0 || layout.groups.empty()) return invalid("the page layout is empty");
  const auto bytes = checked_mul(static_cast<uint64_t>(layout.page_bytes), blocks);
  if (!bytes) return invalid("the KV pool is larger than the address space");
  auto state = std::make_unique<State>();
  O3_ASSIGN(state->memory, backend.allocate(*bytes, device::MemTag::kKv));
  state->layout = std::move(layout);
  state->total = blocks;
  state->free.reserve(blocks);
  for (uint32_t id = blocks; id-- > 0;) state->free.push_back(id);  // page 0 is taken first
  state->holders.assign(blocks, 0);
  state->free_count.store(blocks, std::memory_order_relaxed);
  std::unique_ptr<BlockPool> pool(new BlockPool(std::move(state)));
  return pool;
}

Result<BlockLease> BlockPool::take(uint32_t n) {
  BlockLease lease;
  O3_TRY(extend(lease, n));
  return lease;
}

Result<void> BlockPool::extend(BlockLease& lease, uint32_t n) {
  O3_CHECK(lease.ids_.empty() || lease.pool_ == this, "a lease is extended by its own pool");
  State& s = *state_;
  if (n > s.free.size()) {
    return Error{Code::kExhausted,
                 std::to_string(n) + " KV pages asked for, " + std::to_string(s.free.size()) +
                     " of " + std::to_string(s.total) + " are free",
                 {}};
  }
  lease.pool_ = this;
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t id = s.free.back();
    O3_CHECK(s.holders[id] == 0, "a page on the free list is leased");
    lease.ids_.push_back(id);
    s.free.pop_back();
    s.holders[id] = 1;
  }
  s.free_count.store(static_cast<uint32_t>(s.free.size()), std::memory_order_relaxed);
  return {};
}

void BlockPool::hold(uint32_t id) noexcept {
  O3_CHECK(id < state_->total && state_->holders[id] > 0, "only a leased page can be shared");
  ++state_->holders[id];
}

void BlockPool::share(std::span<const uint32_t> ids, BlockLease& lease) {
  O3_CHECK(lease.ids_.empty() || lease.pool_ == this, "a lease is extended by its own pool");
  lease.pool_ = this;
  for (const uint32_t id : ids) {
    hold(id);
    lease.ids_.push_back(id);
  }
}

void BlockPool::replace(BlockLease& lease, size_t first, std::span<const uint32_t> ids) {
  O3_CHECK(lease.pool_ == this && first + ids.size() <= lease.ids_.size(),
           "only pages that the lease has can be replaced");
  for (const uint32_t id : ids) hold(id);
  const auto place = lease.ids_.begin() + static_cast<ptrdiff_t>(first);
  give_back({&*place, ids.size()});
  std::copy(ids.begin(), ids.end(), place);
}

void BlockPool::give_back(std::span<const uint32_t> ids) noexcept {
  State& s = *state_;
  // Last first, so that the next take gets the pages in their old order.
  for (size_t i = ids.size(); i-- > 0;) {
    const uint32_t id = ids[i];
    O3_CHECK(id < s.total && s.holders[id] > 0, "a page was returned twice");
    if (--s.holders[id] == 0) s.free.push_back(id);
  }
  s.free_count.store(static_cast<uint32_t>(s.free.size()), std::memory_order_relaxed);
}

uint32_t BlockPool::holders(uint32_t id) const noexcept {
  return state_->holders[id];
}
uint32_t BlockPool::free_blocks() const noexcept {
  return state_->free_count.load(std::memory_order_relaxed);
}
uint32_t BlockPool::total_blocks() const noexcept {
  return state_->total;
}
const PageLayout& BlockPool::layout() const noexcept {
  return state_->layout;
}
std::byte* BlockPool::data() const noexcept {
  return state_->memory.data();
}

Result<void> BlockPool::check_integrity() const {
  const State& s = *state_;
  const auto broken = [](uint32_t id, const char* how) {
    return Error{Code::kInternal, "KV page " + std::to_string(id) + " " + how, {}};
  };
  std::vector<uint8_t> seen(s.total, 0);
  for (const uint32_t id : s.free) {
    if (id >= s.total) return broken(id, "is free but not of this pool");
    if (seen[id] != 0) return broken(id, "is free twice");
    if (s.holders[id] != 0) return broken(id, "is free and leased");
    seen[id] = 1;
  }
  for (uint32_t id = 0; id < s.total; ++id) {
    if ((seen[id] != 0) == (s.holders[id] != 0)) return broken(id, "is neither free nor leased");
  }
  return {};
}

}  // namespace o3::cache
