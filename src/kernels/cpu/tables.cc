// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/tables.h"

#include <array>

#include "base/check.h"

namespace o3::kernels::cpu {
namespace {

using device::cpu::Isa;

struct RowOpsRow {
  Isa first_isa;
  Isa last_isa;
  RowOps ops;
};
constexpr std::array kRowOps{
    RowOpsRow{Isa::kAvx512,
              Isa::kAmx,
              {"rows.avx512", avx512::rms_norm, avx512::swiglu, avx512::geglu, avx512::softcap,
               avx512::rope_interleaved, avx512::rope_half, avx512::to_half}},
    RowOpsRow{Isa::kAvx2,
              Isa::kAvx2,
              {"rows.avx2", avx2::rms_norm, avx2::swiglu, avx2::geglu, avx2::softcap,
               avx2::rope_interleaved, avx2::rope_half, avx2::to_half}},
    RowOpsRow{Isa::kGeneric,
              Isa::kAmx,
              {"rows.generic", generic::rms_norm, generic::swiglu, generic::geglu, generic::softcap,
               generic::rope_interleaved, generic::rope_half, generic::to_half}},
};

template <int32_t kLanes>
bool whole_registers(int32_t head_dim, int32_t page_tokens) {
  return head_dim % kLanes == 0 && page_tokens % kLanes == 0;
}
bool any_pages(int32_t /*head_dim*/, int32_t /*page_tokens*/) {
  return true;
}

struct AttnRow {
  Isa first_isa;
  Isa last_isa;
  bool (*feasible)(int32_t head_dim, int32_t page_tokens);
  AttnOps ops;
};
constexpr std::array kAttention{
    AttnRow{Isa::kAvx512,
            Isa::kAmx,
            whole_registers<16>,
            {"attention.avx512", avx512::attend_split, avx512::merge_split}},
    AttnRow{Isa::kAvx2,
            Isa::kAmx,
            whole_registers<8>,
            {"attention.avx2", avx2::attend_split, avx2::merge_split}},
    AttnRow{Isa::kGeneric,
            Isa::kAmx,
            any_pages,
            {"attention.generic", generic::attend_split, generic::merge_split}},
};

}  // namespace

const RowOps& select_row_ops(Isa isa) noexcept {
  for (const RowOpsRow& row : kRowOps) {
    if (isa >= row.first_isa && isa <= row.last_isa) return row.ops;
  }
  check_failed(__FILE__, __LINE__, "select_row_ops", "the table ends with a row for every ISA");
}

const AttnOps& select_attention(Isa isa, int32_t head_dim, int32_t page_tokens) noexcept {
  for (const AttnRow& row : kAttention) {
    if (isa < row.first_isa || isa > row.last_isa) continue;
    if (row.feasible(head_dim, page_tokens)) return row.ops;
  }
  check_failed(__FILE__, __LINE__, "select_attention", "the table ends with a row for every shape");
}

}  // namespace o3::kernels::cpu
