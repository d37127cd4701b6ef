// SPDX-License-Identifier: Apache-2.0
// Addresses in the paged cache.
#pragma once

#include "kernels/attention.h"
#include "kernels/cuda/step.h"

namespace o3::kernels::cuda {

// Byte offset in the pool of slot `slot` of KV head `head`, relative to the layer's K or V plane:
// add kv.k_offset or kv.v_offset. Pages hold a power of two of tokens.
__device__ inline long long slot_offset(const PagedKv& kv, const uint32_t* table, int slot,
                                        int head, int element_bytes) {
  const int shift = __ffs(kv.page_tokens) - 1;
  const long long page = table[slot >> shift];
  const long long index =
      static_cast<long long>(head) * kv.page_tokens + (slot & (kv.page_tokens - 1));
  return page * kv.page_bytes + index * kv.head_dim * element_bytes;
}

// The first slot that a query at `slot` sees.
__device__ inline int first_visible(const AttnDesc& desc, int slot) {
  return desc.window > 0 ? max(0, slot + 1 - desc.window) : 0;
}

__device__ inline float capped(float score, const AttnDesc& desc) {
  score *= desc.scale;
  return desc.softcap > 0.0F ? desc.softcap * tanhf(score / desc.softcap) : score;
}

}  // namespace o3::kernels::cuda
