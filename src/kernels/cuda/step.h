// SPDX-License-Identifier: Apache-2.0
// The rows of a step in device memory, as the kernels of one layer see them. Plain data.
#pragma once

#include <cstdint>

namespace o3::kernels::cuda {

// One sequence's share; AttnSequence with indices in place of pointers.
struct SequenceRows {
  int32_t row_begin = 0;
  int32_t rows = 0;
  int32_t kv_len = 0;       // after the new tokens are appended
  int32_t table_begin = 0;  // of its page ids, in KvStep::tables
  int32_t split_begin = 0;  // of its splits among those of all sequences: where partial results go
  int32_t splits = 0;
};

// A block of attention: decode, split `part` of the cache of `sequence`; prefill, its query tile
// `part`. With a copy of the sequence's numbers, so that one read tells a block all.
struct AttnWork {
  int32_t sequence = 0;
  int32_t part = 0;
  SequenceRows rows;
};

// One KV group's view of the step. It is written before the step's first kernel starts, so kernels
// may read it before they wait for the one ahead of them. `counts` is read on the device, so that a
// captured graph serves steps of other lengths: launches are of the capacity, and blocks beyond the
// count end at once.
struct KvStep {
  const SequenceRows* sequences = nullptr;
  const uint32_t* tables = nullptr;       // page ids
  const int32_t* row_sequence = nullptr;  // [rows]; -1: a row of padding
  const AttnWork* decode = nullptr;
  const AttnWork* prefill = nullptr;
  const int32_t* counts = nullptr;  // {decode, prefill}
  int32_t decode_capacity = 0;
  int32_t prefill_capacity = 0;
};

inline constexpr int32_t kSplitTokens = 256;  // cache slots in one split of decode attention

// Splits [first_split, split_end) are a decoding sequence's work; all of kSplitTokens slots but the
// last, which takes the rest, up to half a split more: a few slots do not make a split of their
// own.
constexpr int32_t split_end(int32_t kv_len) {
  return kv_len <= kSplitTokens + kSplitTokens / 2 ? 1
                                                   : (kv_len + kSplitTokens / 2 - 1) / kSplitTokens;
}
// Of a query that sees slots from `visible` on.
constexpr int32_t first_split(int32_t kv_len, int32_t visible) {
  const int32_t last = split_end(kv_len) - 1;
  return visible / kSplitTokens < last ? visible / kSplitTokens : last;
}

inline constexpr int32_t kQueryTile = 128;  // rows in one tile of prefill attention

}  // namespace o3::kernels::cuda
