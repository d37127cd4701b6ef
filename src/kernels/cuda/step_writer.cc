// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/step_writer.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"

namespace o3::kernels::cuda {
namespace {

constexpr int64_t kAlignment = 16;

int32_t ceil_div(int32_t a, int32_t b) {
  return (a + b - 1) / b;
}

// Splits [first, end) of a decoding sequence that its query sees some of.
struct Splits {
  int32_t first;
  int32_t end;
};
Splits splits_of(const AttnSequence& sequence, const GroupShape& shape) {
  const int32_t visible = shape.window > 0 ? std::max(0, sequence.kv_len - shape.window) : 0;
  return {first_split(sequence.kv_len, visible), split_end(sequence.kv_len)};
}

}  // namespace

StepWriter::StepWriter(const StepCapacity& capacity) : capacity_(capacity) {
  int64_t at = round_up(2 * int64_t{sizeof(int32_t)}, kAlignment);  // counts
  const auto place = [&at](int64_t items, size_t bytes) {
    const int64_t begin = at;
    at = round_up(at + items * static_cast<int64_t>(bytes), kAlignment);
    return begin;
  };
  sequences_ = place(capacity.sequences, sizeof(SequenceRows));
  row_sequence_ = place(capacity.rows, sizeof(int32_t));
  decode_ = place(capacity.splits, sizeof(AttnWork));
  prefill_ = place(capacity.query_tiles, sizeof(AttnWork));
  tables_ = at;
}

StepCounts StepWriter::count(std::span<const AttnSequence> sequences, const GroupShape& shape) {
  StepCounts counts;
  for (const AttnSequence& sequence : sequences) {
    counts.table_entries += ceil_div(sequence.kv_len, shape.page_tokens);
    if (sequence.rows == 1) {
      const Splits splits = splits_of(sequence, shape);
      counts.decode += splits.end - splits.first;
    } else {
      counts.prefill += ceil_div(sequence.rows, kQueryTile);
    }
  }
  counts.splits = counts.decode;
  return counts;
}

StepCounts StepWriter::write(std::span<const AttnSequence> sequences, int32_t rows,
                             const GroupShape& shape, std::byte* host) const {
  auto* to = reinterpret_cast<SequenceRows*>(host + sequences_);
  auto* row_sequence = reinterpret_cast<int32_t*>(host + row_sequence_);
  auto* decode = reinterpret_cast<AttnWork*>(host + decode_);
  auto* prefill = reinterpret_cast<AttnWork*>(host + prefill_);
  auto* tables = reinterpret_cast<uint32_t*>(host + tables_);
  O3_CHECK(std::ssize(sequences) <= capacity_.sequences && rows <= capacity_.rows,
           "a step of more sequences or rows than its arrays hold");
  std::fill_n(row_sequence, rows, -1);
  StepCounts counts;
  for (size_t index = 0; index < sequences.size(); ++index) {
    const AttnSequence& from = sequences[index];
    const auto number = static_cast<int32_t>(index);
    SequenceRows& sequence = to[index];
    sequence = {.row_begin = from.row_begin,
                .rows = from.rows,
                .kv_len = from.kv_len,
                .table_begin = static_cast<int32_t>(counts.table_entries),
                .split_begin = counts.splits};
    std::fill_n(row_sequence + from.row_begin, from.rows, number);
    const int32_t pages = ceil_div(from.kv_len, shape.page_tokens);
    O3_CHECK(counts.table_entries + pages <= capacity_.table_entries,
             "more pages than tables hold");
    std::copy_n(from.table, pages, tables + counts.table_entries);
    counts.table_entries += pages;
    if (from.rows == 1) {
      const Splits splits = splits_of(from, shape);
      sequence.splits = splits.end - splits.first;
      O3_CHECK(counts.decode + sequence.splits <= capacity_.splits, "more splits than planned");
      for (int32_t part = splits.first; part < splits.end; ++part) {
        decode[counts.decode++] = {.sequence = number, .part = part, .rows = sequence};
      }
      counts.splits += sequence.splits;
      continue;
    }
    const int32_t tiles = ceil_div(from.rows, kQueryTile);
    O3_CHECK(counts.prefill + tiles <= capacity_.query_tiles, "more query tiles than planned");
    // The last tile sees most: it starts first.
    for (int32_t tile = tiles - 1; tile >= 0; --tile) {
      prefill[counts.prefill++] = {.sequence = number, .part = tile, .rows = sequence};
    }
  }
  auto* totals = reinterpret_cast<int32_t*>(host);
  totals[0] = counts.decode;
  totals[1] = counts.prefill;
  return counts;
}

KvStep StepWriter::view(const std::byte* device, int32_t decode_capacity,
                        int32_t prefill_capacity) const {
  return {.sequences = reinterpret_cast<const SequenceRows*>(device + sequences_),
          .tables = reinterpret_cast<const uint32_t*>(device + tables_),
          .row_sequence = reinterpret_cast<const int32_t*>(device + row_sequence_),
          .decode = reinterpret_cast<const AttnWork*>(device + decode_),
          .prefill = reinterpret_cast<const AttnWork*>(device + prefill_),
          .counts = reinterpret_cast<const int32_t*>(device),
          .decode_capacity = decode_capacity,
          .prefill_capacity = prefill_capacity};
}

}  // namespace o3::kernels::cuda
