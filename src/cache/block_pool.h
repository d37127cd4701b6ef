// SPDX-License-Identifier: Apache-2.0
// One pool of equal pages. A page moves between sequences by moving its id, and is shared by being
// in several leases; no pool memory is allocated or freed on the request path.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "cache/cache_spec.h"
#include "device/backend.h"

namespace o3::cache {

class BlockPool;

// Move-only hold of pages; the destructor gives it up. A page is free again when no lease holds it.
// Engine thread only. The pool must outlive its leases.
class BlockLease {
 public:
  BlockLease() = default;
  BlockLease(BlockLease&& other) noexcept;
  BlockLease& operator=(BlockLease&& other) noexcept;
  BlockLease(const BlockLease&) = delete;
  BlockLease& operator=(const BlockLease&) = delete;
  ~BlockLease() { release(); }

  std::span<const uint32_t> ids() const noexcept { return ids_; }  // in the order they were taken
  size_t size() const noexcept { return ids_.size(); }
  void reserve(size_t pages) { ids_.reserve(pages); }  // room for ids; takes no page
  void append(BlockLease&& more);                      // same pool
  void release() noexcept;                             // gives up all pages now

 private:
  friend class BlockPool;

  BlockPool* pool_ = nullptr;  // null while the lease never held a page
  std::vector<uint32_t> ids_;
};

// Engine thread only, but for the counters, which any thread may read. Taking or returning a page
// is O(1).
class BlockPool {
 public:
  // All pages are one allocation of the backend (MemTag::kKv). kInvalid for an empty layout or no
  // blocks; kExhausted when the memory is not there.
  static Result<std::unique_ptr<BlockPool>> create(device::Backend& backend, PageLayout layout,
                                                   uint32_t blocks);
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // n pages, or kExhausted and nothing taken.
  Result<BlockLease> take(uint32_t n);
  // The same, added to the end of a lease of this pool (or an empty one).
  Result<void> extend(BlockLease& lease, uint32_t n);
  // Adds pages that another lease holds; what they contain must not change while they are shared.
  void share(std::span<const uint32_t> ids, BlockLease& lease);
  // Puts shared pages in the place of the lease's pages from `first` on, and gives those up.
  void replace(BlockLease& lease, size_t first, std::span<const uint32_t> ids);

  uint32_t free_blocks() const noexcept;
  uint32_t total_blocks() const noexcept;
  const PageLayout& layout() const noexcept;
  std::byte* data() const noexcept;  // page i starts at data() + i * layout().page_bytes

  uint32_t holders(uint32_t id) const noexcept;  // leases that hold this page

  // Every page is either free, once, or held; kInternal says which is not. O(pages).
  Result<void> check_integrity() const;

 private:
  friend class BlockLease;
  struct State;
  explicit BlockPool(std::unique_ptr<State> state);
  void hold(uint32_t id) noexcept;
  void give_back(std::span<const uint32_t> ids) noexcept;
  std::unique_ptr<State> state_;
};

}  // namespace o3::cache
