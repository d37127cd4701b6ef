// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "device/cpu/cpu_backend.h"
#include "kernels/attention.h"
#include "kernels/cpu/tables.h"

namespace o3::kernels {
namespace {

// Goes parallel from about this many values per thread on.
constexpr int64_t kAppendGrain = 4096;

// Where slot `slot` of `head` lies in the plane that starts at `offset` of its page.
std::byte* slot_address(const PagedKv& kv, const AttnSequence& sequence, int64_t offset,
                        int32_t slot, int32_t head) noexcept {
  const int64_t page = sequence.table[slot / kv.page_tokens];
  const int64_t index = int64_t{head} * kv.page_tokens + slot % kv.page_tokens;
  return kv.pool + page * kv.page_bytes + offset +
         index * kv.head_dim * (kv.dtype == DType::kF16 ? 2 : 4);
}

void append_row(const PagedKv& kv, const AttnSequence& sequence, int64_t offset, int32_t slot,
                const float* from, const cpu::RowOps& ops) noexcept {
  for (int32_t head = 0; head < kv.kv_heads; ++head) {
    std::byte* to = slot_address(kv, sequence, offset, slot, head);
    const float* x = from + int64_t{head} * kv.head_dim;
    if (kv.dtype == DType::kF16) {
      ops.to_half(x, reinterpret_cast<uint16_t*>(to), kv.head_dim);
    } else {
      std::memcpy(to, x, sizeof(float) * static_cast<size_t>(kv.head_dim));
    }
  }
}

}  // namespace

void kv_append(const PagedKv& kv, std::span<const AttnSequence> sequences, TensorView k,
               TensorView v, ExecCtx& ctx) {
  O3_CHECK(kv.dtype == DType::kF16 || kv.dtype == DType::kF32, "KV is F16 or F32");
  O3_CHECK(kv.page_tokens > 0 && kv.kv_heads > 0 && kv.head_dim > 0, "empty KV layout");
  O3_CHECK(k.dtype == DType::kF32 && v.dtype == DType::kF32, "kv_append: k and v are F32");
  O3_CHECK(k.cols() == int64_t{kv.kv_heads} * kv.head_dim && v.cols() == k.cols(),
           "kv_append: k and v are [n, kv_heads * head_dim]");
  auto& backend = static_cast<device::cpu::CpuBackend&>(ctx.backend);
  const cpu::RowOps& ops = cpu::select_row_ops(backend.isa());
  const int64_t grain = std::max<int64_t>(1, kAppendGrain / k.cols());
  for (const AttnSequence& sequence : sequences) {
    backend.threads().parallel_for(sequence.rows, grain, [&](int64_t begin, int64_t end) {
      for (auto row = static_cast<int32_t>(begin); row < end; ++row) {
        const int32_t slot = sequence.kv_len - sequence.rows + row;
        const int64_t from = int64_t{sequence.row_begin} + row;
        append_row(kv, sequence, kv.k_offset, slot, k.row<const float>(from), ops);
        append_row(kv, sequence, kv.v_offset, slot, v.row<const float>(from), ops);
      }
    });
  }
}

}  // namespace o3::kernels
