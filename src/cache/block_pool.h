// SPDX-License-Identifier: Apache-2.0
// One pool of equal pages. A page moves between sequences by moving its id; nothing is allocated or
// freed on the request path.
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

// Move-only ownership of pages; the destructor returns them. Engine thread only. The pool must
// outlive its leases.
class BlockLease {
 public:
  BlockLease() = default;
  BlockLease(BlockLease&& other) noexcept;
  BlockLease& operator=(BlockLease&& other) noexcept;
  BlockLease(const BlockLease&) = delete;
  BlockLease& operator=(const BlockLease&) = delete;
  ~BlockLease() { release(); }

  std::span<const uint32_t> ids() const noexcept { return ids_; }
  size_t size() const noexcept { return ids_.size(); }
  void append(BlockLease&& more);  // same pool
  void release() noexcept;         // returns all pages now

 private:
  friend class BlockPool;
  BlockLease(BlockPool& pool, std::vector<uint32_t> ids) noexcept
      : pool_(&pool), ids_(std::move(ids)) {}

  BlockPool* pool_ = nullptr;
  std::vector<uint32_t> ids_;
};

// Engine thread only, but for the counters, which any thread may read.
class BlockPool {
 public:
  static Result<std::unique_ptr<BlockPool>> create(device::Backend& backend, PageLayout layout,
                                                   uint32_t blocks);
  ~BlockPool();

  // n pages, or kExhausted and nothing taken.
  Result<BlockLease> take(uint32_t n);

  uint32_t free_blocks() const noexcept;
  uint32_t total_blocks() const noexcept;
  const PageLayout& layout() const noexcept;
  std::byte* data() const noexcept;  // page i starts at data() + i * layout().page_bytes

  // Every page is free exactly once or leased exactly once; kInternal says which is not.
  Result<void> check_integrity() const;

 private:
  friend class BlockLease;
  struct State;
  explicit BlockPool(std::unique_ptr<State> state);
  void give_back(std::span<const uint32_t> ids) noexcept;
  std::unique_ptr<State> state_;
};

}  // namespace o3::cache
