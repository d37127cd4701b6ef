// SPDX-License-Identifier: Apache-2.0
// One query row per sequence over a long cache (split along it: Dao et al. 2023, "Flash-Decoding").
// A team of four warps takes the slots of a split for one KV head, for all query heads that share
// it. Each warp has a ring of tiles of its own and keeps it full with asynchronous copies, over the
// ends of splits, so that memory never waits for arithmetic. Cached rows are the tensor core's tall
// operand and query heads its 8 columns. A second kernel adds the splits up in their order.
#pragma once

#include "kernels/cuda/attention.h"
#include "kernels/cuda/cached_number.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/paged.cuh"
#include "kernels/cuda/pipeline.cuh"

namespace o3::kernels::cuda {

inline constexpr int kTeamWarps = 4;
inline constexpr int kTeamThreads = kTeamWarps * kWarp;
inline constexpr int kTileTokens = 16;  // slots of a tile: rows of the tensor core's tall operand
inline constexpr int kTeamTokens = kTeamWarps * kTileTokens;  // a tile of each warp
inline constexpr int kMaxGroup = 16;                          // query heads per KV head
inline constexpr float kLog2E = 1.4426950408889634F;

// A tile of K or V in shared memory, rows of kDim numbers as in the cache. Pieces of 16 bytes are
// swapped about within a row, so that eight rows of one column lie in different banks.
template <class S, int kDim>
struct TileLayout {
  static constexpr int kRowBytes = kDim * static_cast<int>(sizeof(S));
  static constexpr int kPieces = kRowBytes / 16;
  static constexpr int kPlaneBytes = kTileTokens * kRowBytes;
  static constexpr int kBytes = 2 * kPlaneBytes;  // K, then V
  static __device__ int at(int row, int piece) {
    constexpr int kRows = kPieces >= 8 ? 1 : 8 / kPieces;  // that 128 bytes hold
    constexpr int kMask = (kPieces >= 8 ? 8 : kPieces) - 1;
    return row * kRowBytes + (piece ^ (row / kRows & kMask)) * 16;
  }
};

// What a team works on: a part of one sequence's cache, for one KV head.
struct Split {
  SequenceRows sequence;
  int number;  // of the sequence
  int part;
  int kv_head;
  int tiles;  // of each warp
  int begin;  // slots that the query sees
  int end;

  __device__ Split(const AttentionArgs& a, int item) {
    const AttnWork work = a.step.decode[item / a.kv.kv_heads];
    kv_head = item % a.kv.kv_heads;
    sequence = work.rows;
    number = work.sequence;
    part = work.part;
    begin = first_visible(a.desc, sequence.kv_len - 1);
    end = sequence.kv_len;
    const int first = part * kSplitTokens;
    tiles = (last() ? end - first + kTeamTokens - 1 : kSplitTokens) / kTeamTokens;
  }
  __device__ bool last() const { return part + 1 == split_end(sequence.kv_len); }
  // Among the sequence's splits, of which those before the window are none.
  __device__ int place() const { return part - first_split(sequence.kv_len, begin); }
  // First slot of this warp's tile `tile`. The warps' tiles alternate: a short split keeps all
  // busy.
  __device__ int token(int tile) const {
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    return part * kSplitTokens + (tile * kTeamWarps + warp) * kTileTokens;
  }
  __device__ bool sees(int token) const { return token < end && token + kTileTokens > begin; }
};

// A warp's ring: which tile is to be copied next, and where to.
template <class S, int kDim, int kStages>
class TileRing {
  using L = TileLayout<S, kDim>;

 public:
  static constexpr int kBytes = kStages * L::kBytes;

  __device__ TileRing(const AttentionArgs& a, char* mine, int items)
      : a_(a), mine_(mine), items_(items), item_(static_cast<int>(blockIdx.x)), split_(a, item_) {}

  // The next tile's copies on their way, if there is a tile; one group of copies in any case. The
  // newest slot may be what the kernel ahead writes: then that kernel's end is waited for.
  __device__ void ask() {
    if (item_ < items_) {
      const int token = split_.token(tile_);
      if (split_.sees(token)) {
        if (token + kTileTokens >= split_.end) wait_for_previous();
        copy(token);
      }
      if (++tile_ == split_.tiles) {
        tile_ = 0;
        item_ += static_cast<int>(gridDim.x);
        if (item_ < items_) split_ = Split(a_, item_);
      }
    }
    commit_copies();
    asked_ = asked_ + 1 == kStages ? 0 : asked_ + 1;
  }
  // The oldest tile asked for. Behind it, done() before the next ask().
  __device__ const char* wait() {
    wait_copies<kStages - 1>();
    __syncwarp();
    return mine_ + taken_ * L::kBytes;
  }
  __device__ void done() {
    __syncwarp();
    taken_ = taken_ + 1 == kStages ? 0 : taken_ + 1;
  }

 private:
  // A tile lies in one page. Slots behind the end become zeros.
  __device__ void copy(int token) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const std::byte* keys = a_.kv.pool + a_.kv.k_offset +
                            slot_offset(a_.kv, a_.step.tables + split_.sequence.table_begin, token,
                                        split_.kv_head, sizeof(S));
    const std::byte* values = keys + (a_.kv.v_offset - a_.kv.k_offset);
    char* to = mine_ + asked_ * L::kBytes;
#pragma unroll
    for (int i = 0; i < kTileTokens * L::kPieces / kWarp; ++i) {
      const int row = (i * kWarp + lane) / L::kPieces;
      const int piece = (i * kWarp + lane) % L::kPieces;
      const bool there = token + row < split_.end;
      const int from = there ? row * L::kRowBytes + piece * 16 : 0;
      copy_16(to + L::at(row, piece), keys + from, there);
      copy_16(to + L::kPlaneBytes + L::at(row, piece), values + from, there);
    }
  }

  const AttentionArgs& a_;
  char* mine_;
  int items_;
  int item_;
  int tile_ = 0;
  int asked_ = 0;
  int taken_ = 0;
  Split split_;
};

// A warp's sums for kColumns blocks of 8 query heads. Lane 4 g + t holds heads 8 j + 2 t + {0, 1};
// of a tile's scores the slots g and g + 8, of the sums the dimensions dimension_of() says.
template <class S, int kDim, int kColumns>
class Sums {
  using L = TileLayout<S, kDim>;
  using T = Multiplied<S>;
  static constexpr int kBlocks = kDim / 16;

 public:
  // q: [group][kDim] of the KV head.
  __device__ void start(const T* q, int group) {
    const int g = static_cast<int>(threadIdx.x) % kWarp / 4;
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
#pragma unroll
      for (int s = 0; s < kBlocks; ++s) {
        load_query<S>(q_[j][s], q + (8 * j + g) * kDim + s * 16, 8 * j + g < group);
#pragma unroll
        for (int i = 0; i < 4; ++i) sum_[j][s][i] = 0.0F;
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        most_[j][i] = -INFINITY;
        total_[j][i] = 0.0F;
      }
    }
  }

  // Adds slots [token, token + kTileTokens), of which [begin, end) are seen.
  __device__ void add(const AttnDesc& desc, const char* tile, int token, int begin, int end) {
    float c[kColumns][4];
    score(tile, c);
    uint32_t p[kColumns][2];
    soften(desc, token, begin, end, c, p);
    weigh(tile + L::kPlaneBytes, p);
  }

  // The warp's result: sums[group][kDim], most[group] and total[group].
  __device__ void leave(int group, float* sums, float* most, float* total) {
    const int g = static_cast<int>(threadIdx.x) % kWarp / 4;
    const int t = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float all = total_[j][i];
        for (int offset = 4; offset < kWarp; offset *= 2) all += __shfl_xor_sync(~0U, all, offset);
        const int head = 8 * j + 2 * t + i;
        if (head >= group) continue;
        if (g == 0) {
          most[head] = most_[j][i];
          total[head] = all;
        }
#pragma unroll
        for (int s = 0; s < kBlocks; ++s) {
          sums[head * kDim + s * 16 + dimension_of<S>(g, false)] = sum_[j][s][i];
          sums[head * kDim + s * 16 + dimension_of<S>(g, true)] = sum_[j][s][2 + i];
        }
      }
    }
  }

 private:
  __device__ void score(const char* keys, float (&c)[kColumns][4]) const {
    float odd[kColumns][4];  // two chains of sums hide the tensor core's latency
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) c[j][i] = odd[j][i] = 0.0F;
    }
#pragma unroll
    for (int s = 0; s < kBlocks; s += 2) {
      uint32_t k[2][4];
      load_keys<S, L>(keys, s, k);
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        multiply<T>(c[j], k[0], q_[j][s][0], q_[j][s][1]);
        multiply<T>(odd[j], k[1], q_[j][s + 1][0], q_[j][s + 1][1]);
      }
    }
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) c[j][i] += odd[j][i];
    }
  }

  // Softmax relative to the largest score so far; p: the weights as the tensor core wants them.
  __device__ void soften(const AttnDesc& desc, int token, int begin, int end,
                         float (&c)[kColumns][4], uint32_t (&p)[kColumns][2]) {
    const int slot = token + static_cast<int>(threadIdx.x) % kWarp / 4;
    const bool low = slot >= begin && slot < end;
    const bool high = slot + 8 >= begin && slot + 8 < end;
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float& x = c[j][i];
        float& y = c[j][2 + i];
        x = low ? capped(x, desc) : -INFINITY;
        y = high ? capped(y, desc) : -INFINITY;
        float most = fmaxf(x, y);
        for (int offset = 4; offset < kWarp; offset *= 2) {
          most = fmaxf(most, __shfl_xor_sync(~0U, most, offset));
        }
        most = fmaxf(most, most_[j][i]);
        const float shift = most == -INFINITY ? 0.0F : most * kLog2E;
        const float by = exp2f(most_[j][i] * kLog2E - shift);
        most_[j][i] = most;
        x = exp2f(x * kLog2E - shift);
        y = exp2f(y * kLog2E - shift);
        total_[j][i] = total_[j][i] * by + x + y;
#pragma unroll
        for (int s = 0; s < kBlocks; ++s) {
          sum_[j][s][i] *= by;
          sum_[j][s][2 + i] *= by;
        }
      }
      p[j][0] = transposed(pack<T>(c[j][0], c[j][1]));
      p[j][1] = transposed(pack<T>(c[j][2], c[j][3]));
    }
  }

  __device__ void weigh(const char* values, const uint32_t (&p)[kColumns][2]) {
#pragma unroll
    for (int s = 0; s < kBlocks; s += 2) {
      uint32_t v[2][4];
      load_values<S, L>(values, s, v);
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        multiply<T>(sum_[j][s], v[0], p[j][0], p[j][1]);
        multiply<T>(sum_[j][s + 1], v[1], p[j][0], p[j][1]);
      }
    }
  }

  uint32_t q_[kColumns][kBlocks][2];
  float sum_[kColumns][kBlocks][4];
  float most_[kColumns][2];
  float total_[kColumns][2];
};

}  // namespace o3::kernels::cuda
