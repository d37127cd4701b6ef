// SPDX-License-Identifier: Apache-2.0
// Descriptions of the paged cache for tensor copies (TMA).
#pragma once

#include <cuda.h>

#include "kernels/attention.h"

namespace o3::kernels::cuda {

// Boxes of 64 numbers of `box_rows` neighbouring slots of one KV head and page, swizzled by 128
// bytes: coordinates {number, kv_head * page_tokens + slot in page, page}. `offset` is k_offset or
// v_offset; F16 or BF16. Pure arithmetic of the driver: nothing is allocated.
CUtensorMap paged_map(const PagedKv& kv, int64_t offset, int box_rows);

}  // namespace o3::kernels::cuda
