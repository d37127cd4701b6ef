// SPDX-License-Identifier: Apache-2.0
// What the CPU attention kernels get; see linear_tile.h for the rule on ISA files.
#pragma once

#include <cstdint>

namespace o3::kernels::cpu {

// The KV axis is cut at multiples of kSplit slots. Each split is one softmax; splits merge in
// ascending order. Both are fixed, so that a row's bits depend neither on the batch nor on which
// thread took which split.
inline constexpr int32_t kSplit = 128;
// Query vectors (rows x heads that share a KV head) that one pass over a split serves.
inline constexpr int32_t kTileVectors = 48;

// Unnormalised attention of some vectors: out = acc / sum.
struct Partial {
  float* acc;  // [vectors][head_dim], sum of e^(s - max) v
  float* max;  // [vectors], -infinity where nothing was seen
  float* sum;  // [vectors], sum of e^(s - max)
};

// One KV head, one split, a few query vectors.
struct AttnTile {
  const uint8_t* k = nullptr;  // this head's K in page 0; page p is p * page_bytes further
  const uint8_t* v = nullptr;
  const uint32_t* table = nullptr;
  int64_t page_bytes = 0;
  int32_t page_tokens = 0;
  int32_t head_dim = 0;
  bool half = false;  // F16 elements, else F32

  int32_t begin = 0;  // slots [begin, end) of the split; nothing outside may be read
  int32_t end = 0;
  int32_t vectors = 0;
  const float* q[kTileVectors] = {};
  int32_t low[kTileVectors] = {};  // vector i sees slots [low, high)
  int32_t high[kTileVectors] = {};
  float scale = 0.0F;
  float softcap = 0.0F;
  Partial out{};
  float* scratch = nullptr;
};

// Scratch of a tile: scores [kTileVectors][kSplit], then keys [head_dim][kKeyTokens], head_dim
// rounded up to a multiple of 32.
inline constexpr int32_t kKeyTokens = 32;

struct AttnOps {
  const char* name;
  void (*attend)(const AttnTile& tile);
  // into = merge(into, more) for `vectors` vectors; `into` covers lower slots.
  void (*merge)(const Partial& into, const Partial& more, int32_t vectors, int32_t head_dim);
};

namespace generic {
void attend_split(const AttnTile& tile);
void merge_split(const Partial& into, const Partial& more, int32_t vectors, int32_t head_dim);
}  // namespace generic
namespace avx2 {  // head_dim and page_tokens multiples of 8
void attend_split(const AttnTile& tile);
void merge_split(const Partial& into, const Partial& more, int32_t vectors, int32_t head_dim);
}  // namespace avx2
namespace avx512 {  // head_dim and page_tokens multiples of 16
void attend_split(const AttnTile& tile);
void merge_split(const Partial& into, const Partial& more, int32_t vectors, int32_t head_dim);
}  // namespace avx512

}  // namespace o3::kernels::cpu
