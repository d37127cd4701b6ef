// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <string>

#include "base/bytes.h"
#include "cache/cache_spec.h"

namespace o3::cache {
namespace {

// Generous bounds (the largest models known have 128 heads of 256 and 126 layers) that keep every
// product below far from overflow: 2^16 layers * 2 * 2^16 * 2^12 * 2^8 * 4 bytes < 2^56.
constexpr int32_t kMaxHeads = 1 << 16;
constexpr int32_t kMaxHeadDim = 1 << 12;
constexpr size_t kMaxLayers = 1 << 16;
constexpr int32_t kMinPageTokens = 16;
constexpr int32_t kMaxPageTokens = 256;
// A page starts on a cache line, so that the first plane of each does.
constexpr int64_t kPageAlignment = 64;

Result<void> check_spec(const CacheSpec& spec, size_t layer) {
  const std::string where = "layer " + std::to_string(layer);
  if (spec.kind != CacheKind::kFull && spec.kind != CacheKind::kSlidingWindow) {
    return unsupported("cache kinds other than full and sliding window have no kernel yet", where);
  }
  if (spec.dtype != device::DType::kF32 && spec.dtype != device::DType::kF16 &&
      spec.dtype != device::DType::kBF16 && spec.dtype != device::DType::kF8_E4M3) {
    return unsupported("KV is kept as F32, F16, BF16 or F8_E4M3; " +
                           std::string(device::traits(spec.dtype).name) + " has no kernel yet",
                       where);
  }
  if (spec.kv_heads < 1 || spec.kv_heads > kMaxHeads || spec.head_dim < 1 ||
      spec.head_dim > kMaxHeadDim) {
    return invalid("KV heads must be 1 to 65536 and the head dimension 1 to 4096", where);
  }
  const bool windowed = spec.kind == CacheKind::kSlidingWindow;
  if (windowed ? spec.window < 1 : spec.window != 0) {
    return invalid("a sliding window needs at least one position, a full cache has none", where);
  }
  return {};
}

// K and V of all the group's layers for one token.
int64_t token_bytes(const KvGroup& group) {
  return 2 * static_cast<int64_t>(group.layers.size()) * group.spec.kv_heads *
         device::row_bytes(group.spec.dtype, group.spec.head_dim);
}

}  // namespace

int64_t KvGroup::plane_bytes() const noexcept {
  return int64_t{spec.kv_heads} * page_tokens * device::row_bytes(spec.dtype, spec.head_dim);
}

Result<PageLayout> make_page_layout(std::span<const CacheSpec> layers, int32_t page_tokens) {
  if (layers.empty() || layers.size() > kMaxLayers) {
    return invalid("a KV cache needs 1 to 65536 layers, not " + std::to_string(layers.size()));
  }
  if (page_tokens < kMinPageTokens || page_tokens > kMaxPageTokens ||
      !std::has_single_bit(static_cast<uint32_t>(page_tokens))) {
    return invalid(
        "tokens per page must be 16, 32, 64, 128 or 256, not " + std::to_string(page_tokens),
        "page_tokens");
  }
  PageLayout layout;
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    O3_TRY(check_spec(layers[layer], layer));
    auto group = std::find_if(layout.groups.begin(), layout.groups.end(),
                              [&](const KvGroup& g) { return g.spec == layers[layer]; });
    if (group == layout.groups.end()) {
      layout.groups.push_back(KvGroup{.spec = layers[layer], .layers = {}, .page_tokens = 0});
      group = std::prev(layout.groups.end());
    }
    group->layers.push_back(static_cast<int32_t>(layer));
  }
  int64_t largest = 0;
  for (const KvGroup& group : layout.groups) largest = std::max(largest, token_bytes(group));
  layout.page_bytes = round_up(largest * page_tokens, kPageAlignment);
  for (KvGroup& group : layout.groups) {
    const auto fit = static_cast<uint64_t>(layout.page_bytes / token_bytes(group));
    group.page_tokens = static_cast<int32_t>(std::min(std::bit_floor(fit), uint64_t{1} << 30));
  }
  return layout;
}

int64_t pages_for(const PageLayout& layout, int64_t tokens) noexcept {
  int64_t pages = 0;
  for (const KvGroup& group : layout.groups) {
    pages += (tokens + group.page_tokens - 1) / group.page_tokens;
  }
  return pages;
}

}  // namespace o3::cache
