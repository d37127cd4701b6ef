// SPDX-License-Identifier: Apache-2.0
#include "model/cuda/step_staging.h"

#include <algorithm>
#include <bit>

#include "base/bytes.h"
#include "base/check.h"

namespace o3::model::cuda {
namespace {

constexpr int64_t kAlignment = 256;
constexpr int32_t kExactRows = 16;  // decode steps of up to so many rows are not padded

int32_t round_to(int32_t value, int32_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Rows of a decode step with its padding: few different numbers, little waste.
int32_t padded_rows(int32_t rows) {
  if (rows <= kExactRows) return rows;
  return round_to(rows, rows <= 64 ? 8 : rows <= 256 ? 16 : 64);
}

// At most a quarter more.
int32_t padded_blocks(int32_t blocks) {
  if (blocks <= 4) return blocks;
  return round_to(blocks, static_cast<int32_t>(std::bit_floor(static_cast<uint32_t>(blocks)) / 4));
}

kernels::cuda::StepCapacity capacity_of(const RunnerLimits& limits, const cache::KvGroup& group,
                                        int32_t rows, uint32_t pages) {
  const int64_t each = (limits.context + group.page_tokens - 1) / group.page_tokens;
  const int64_t table = limits.sequences * each;
  const int64_t tokens =
      std::min(int64_t{pages} * group.page_tokens, int64_t{limits.sequences} * limits.context);
  const int64_t splits = tokens / kernels::cuda::kSplitTokens + limits.sequences;
  return {.rows = rows,
          .sequences = limits.sequences,
          .splits = padded_blocks(static_cast<int32_t>(splits)),
          .query_tiles = rows / kernels::cuda::kQueryTile + limits.sequences,
          .table_entries = table};
}

}  // namespace

Result<StepStaging> StepStaging::create(const RunnerLimits& limits, const KvView& kv,
                                        device::cuda::CudaBackend& backend) {
  StepStaging staging(backend);
  staging.most_rows_ = padded_rows(limits.rows);
  int64_t at = 0;
  const auto place = [&at](int64_t bytes) {
    const int64_t begin = at;
    at = round_up(at + bytes, kAlignment);
    return begin;
  };
  const int64_t row_bytes = int64_t{staging.most_rows_} * int64_t{sizeof(int32_t)};
  staging.tokens_ = place(row_bytes);
  staging.positions_ = place(row_bytes);
  staging.logit_rows_ = place(row_bytes);
  for (const cache::KvGroup& group : kv.layout->groups) {
    const auto capacity = capacity_of(limits, group, staging.most_rows_, kv.pages);
    kernels::cuda::StepWriter writer(capacity);
    staging.most_splits_ = std::max(staging.most_splits_, capacity.splits);
    const int64_t offset = place(writer.bytes());
    staging.groups_.push_back({{group.page_tokens, group.spec.window}, writer, offset});
  }
  O3_ASSIGN(staging.host_, backend.allocate_pinned(static_cast<size_t>(at)));
  O3_ASSIGN(staging.device_, backend.allocate(static_cast<size_t>(at), device::MemTag::kIo));
  return staging;
}

Result<StepShape> StepStaging::stage(const BatchView& batch) {
  const auto rows = static_cast<int32_t>(batch.tokens.size());
  const auto logits = static_cast<int32_t>(batch.logit_rows.size());
  const auto sequences = batch.sequences.front();
  StepShape shape;
  shape.all_rows = rows == logits;
  shape.decode_only = std::all_of(sequences.begin(), sequences.end(),
                                  [](const auto& sequence) { return sequence.rows == 1; });
  const bool pad = shape.decode_only && shape.all_rows;
  shape.rows = pad ? padded_rows(rows) : rows;
  shape.logit_rows = pad ? shape.rows : logits;

  auto* tokens = reinterpret_cast<int32_t*>(host_.data() + tokens_);
  auto* positions = reinterpret_cast<int32_t*>(host_.data() + positions_);
  for (int32_t row = 0; row < shape.rows; ++row) {
    const auto at = static_cast<size_t>(row);
    tokens[row] = row < rows ? batch.tokens[at] : -1;
    positions[row] = row < rows ? batch.positions[at][0] : 0;
  }
  std::copy(batch.logit_rows.begin(), batch.logit_rows.end(),
            reinterpret_cast<int32_t*>(host_.data() + logit_rows_));

  int64_t begin = 0;  // of what is still to be copied
  for (size_t index = 0; index < groups_.size(); ++index) {
    const Group& group = groups_[index];
    const kernels::cuda::StepCounts counts = group.writer.write(
        batch.sequences[index], shape.rows, group.shape, host_.data() + group.offset);
    shape.decode_blocks.push_back(pad ? padded_blocks(counts.decode) : counts.decode);
    shape.prefill_blocks.push_back(counts.prefill);
    const int64_t end = group.offset + group.writer.used_bytes(counts);
    O3_TRY(backend_->enqueue_copy(device_.data() + begin, host_.data() + begin,
                                  static_cast<size_t>(end - begin)));
    begin = index + 1 < groups_.size() ? groups_[index + 1].offset : end;
  }
  return shape;
}

kernels::cuda::KvStep StepStaging::step(size_t group, const StepShape& shape) const {
  const Group& from = groups_[group];
  return from.writer.view(device_.data() + from.offset, shape.decode_blocks[group],
                          shape.prefill_blocks[group]);
}

}  // namespace o3::model::cuda
