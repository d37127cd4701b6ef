// SPDX-License-Identifier: Apache-2.0
// From a batch's sequences in host memory to the arrays that KvStep points at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/attention.h"
#include "kernels/cuda/step.h"

namespace o3::kernels::cuda {

// The most that a step may hold.
struct StepCapacity {
  int32_t rows = 0;
  int32_t sequences = 0;
  int32_t splits = 0;       // of decoding sequences together
  int32_t query_tiles = 0;  // of the others
  int64_t table_entries = 0;
};

// What one KV group asks of the writer.
struct GroupShape {
  int32_t page_tokens = 0;
  int32_t window = 0;  // 0: none
};

struct StepCounts {
  int32_t decode = 0;   // blocks of decode attention
  int32_t prefill = 0;  // query tiles
  int32_t splits = 0;   // partial results
  int64_t table_entries = 0;
};

// One group's arrays in a block of memory, the same offsets on host and device. The tables come
// last, so that a copy can end with the entries that are used.
class StepWriter {
 public:
  explicit StepWriter(const StepCapacity& capacity);

  int64_t bytes() const noexcept { return tables_ + capacity_.table_entries * 4; }
  int64_t used_bytes(const StepCounts& counts) const noexcept {
    return tables_ + counts.table_entries * 4;
  }

  // What write() would need, to compare with the capacity.
  static StepCounts count(std::span<const AttnSequence> sequences, const GroupShape& shape);
  // Rows from the last sequence's on up to `rows` are padding. The capacity suffices.
  StepCounts write(std::span<const AttnSequence> sequences, int32_t rows, const GroupShape& shape,
                   std::byte* host) const;

  // Pointers into the block's copy on the device; launches are of the given capacities.
  KvStep view(const std::byte* device, int32_t decode_capacity, int32_t prefill_capacity) const;

  const StepCapacity& capacity() const noexcept { return capacity_; }

 private:
  StepCapacity capacity_;
  int64_t sequences_ = 0;  // byte offsets
  int64_t row_sequence_ = 0;
  int64_t decode_ = 0;
  int64_t prefill_ = 0;
  int64_t tables_ = 0;
};

}  // namespace o3::kernels::cuda
