// SPDX-License-Identifier: Apache-2.0
// What a model asks of the KV cache, and how one page of the pool answers it (design section 5).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "device/dtype.h"

namespace o3::cache {

enum class CacheKind : uint8_t { kFull, kSlidingWindow, kLatent, kState };

// One layer's need. Layers with equal specs form a KV group.
struct CacheSpec {
  CacheKind kind = CacheKind::kFull;
  int32_t kv_heads = 0;
  int32_t head_dim = 0;
  int32_t window = 0;  // kSlidingWindow only
  device::DType dtype = device::DType::kF16;
  bool operator==(const CacheSpec&) const = default;
};

// Layers that share one block table per sequence. In a page: for each layer of the group in order,
// K [kv_head][page_tokens][head_dim], then V the same.
struct KvGroup {
  CacheSpec spec;
  std::vector<int32_t> layers;  // model layer numbers
  int32_t page_tokens = 0;

  int64_t plane_bytes() const noexcept;  // K (or V) of one layer in one page
  int64_t k_offset(int32_t layer_in_group) const noexcept {
    return 2 * layer_in_group * plane_bytes();
  }
  int64_t v_offset(int32_t layer_in_group) const noexcept {
    return k_offset(layer_in_group) + plane_bytes();
  }
};

// One fixed page size for the whole pool; how many tokens of a group a page holds follows from it.
struct PageLayout {
  int64_t page_bytes = 0;
  std::vector<KvGroup> groups;
};

// `page_tokens` (16-256, a power of two) is what the largest group holds per page; other groups get
// the largest power of two that fits the same bytes. kUnsupported for kinds no kernel serves yet.
Result<PageLayout> make_page_layout(std::span<const CacheSpec> layers, int32_t page_tokens);

// Pages that one sequence of `tokens` (>= 0) tokens takes, over all groups.
int64_t pages_for(const PageLayout& layout, int64_t tokens) noexcept;

}  // namespace o3::cache
