// SPDX-License-Identifier: Apache-2.0
// Causal attention over a paged KV cache; grouped query heads share their KV head's pages.
// Prefill chunks and decode rows mix in one call.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "kernels/exec.h"

namespace o3::kernels {

// One layer's K and V inside the pool's pages, as plain data. In a page, K of the layer starts at
// k_offset, V at v_offset, each laid out [kv_head][page_tokens][head_dim] in `dtype`.
struct PagedKv {
  std::byte* pool = nullptr;
  int64_t page_bytes = 0;
  int64_t k_offset = 0;
  int64_t v_offset = 0;
  DType dtype = DType::kF16;  // F32, F16
  int32_t page_tokens = 0;
  int32_t kv_heads = 0;
  int32_t head_dim = 0;
};

// One sequence's share of the batch. Its `rows` new tokens sit at batch rows
// [row_begin, row_begin + rows) and at logical slots [kv_len - rows, kv_len) of its table.
struct AttnSequence {
  int32_t row_begin = 0;
  int32_t rows = 0;
  int32_t kv_len = 0;               // after the new tokens are appended
  const uint32_t* table = nullptr;  // page ids, ceil(kv_len / page_tokens) of them
};

struct AttnDesc {
  int32_t heads = 0;     // query heads; a multiple of kv_heads
  float scale = 0.0F;    // usually 1/sqrt(head_dim)
  int32_t window = 0;    // > 0: a query sees the last `window` positions, its own included
  float softcap = 0.0F;  // > 0: s = cap * tanh(s / cap)
};

// Writes rows of k and v (F32, [n, kv_heads * head_dim]; rows may be slices of a fused buffer,
// hence row_stride) to the slots of their sequences.
void kv_append(const PagedKv& kv, std::span<const AttnSequence> sequences, TensorView k,
               TensorView v, ExecCtx& ctx);

// out[n, heads * head_dim] for q[n, heads * head_dim], both F32. A row's result does not depend on
// the other rows of the batch nor on how its sequence was cut into chunks (fixed KV split sizes).
void paged_attention(const AttnDesc& desc, const PagedKv& kv,
                     std::span<const AttnSequence> sequences, TensorView q, TensorView out,
                     ExecCtx& ctx);

// Bytes of workspace paged_attention() needs.
int64_t attention_workspace(const AttnDesc& desc, const PagedKv& kv, int64_t rows,
                            device::Backend& backend);

}  // namespace o3::kernels
