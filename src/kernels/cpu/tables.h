// SPDX-License-Identifier: Apache-2.0
// Kernel tables of the ops that fit every shape on some row (generic is last).
#pragma once

#include "device/cpu/isa.h"
#include "kernels/cpu/attention_tile.h"
#include "kernels/cpu/row_ops.h"

namespace o3::kernels::cpu {

const RowOps& select_row_ops(device::cpu::Isa isa) noexcept;
const AttnOps& select_attention(device::cpu::Isa isa, int32_t head_dim,
                                int32_t page_tokens) noexcept;

}  // namespace o3::kernels::cpu
