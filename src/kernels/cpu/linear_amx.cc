// SPDX-License-Identifier: Apache-2.0
// AMX: a tile product per panel of 16 rows, group of 16 outputs and block of 32 inputs, then the
// block's scales in FP32, so that the results are those of VNNI bit for bit. Up to 8 rows go to
// VNNI. See linear_tile.h for the rule on what this file may contain.
#include <immintrin.h>

#include "kernels/cpu/linear_tile.h"
#include "kernels/cpu/linear_vnni_body.h"

namespace o3::kernels::cpu::amx {
namespace {

using avx512::Block;
using avx512::Pass;

// The 64 bytes of LDTILECFG (Intel SDM vol. 1, section 18.3).
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// Tiles: 0 and 1 dot products [16 rows][16 outputs] int32; 2 activations [16 rows][32];
// 3 weights [8 words][16 outputs x 4]. Two products, so that one is computed while the other is
// scaled.
constexpr int kProduct = 0;
constexpr int kActivations = 2;
constexpr int kWeights = 3;

// Own wrappers: those of g++ 12 name neither the whole configuration nor the memory a tile is
// loaded from as inputs, so that stores to them may be dropped or moved behind.
void configure() {
  TileConfig config;
  for (int tile = kProduct; tile < kProduct + 2; ++tile) {
    config.row_bytes[tile] = 64;
    config.rows[tile] = kPanel;
  }
  config.row_bytes[kActivations] = kBlock;
  config.rows[kActivations] = kPanel;
  config.row_bytes[kWeights] = 64;
  config.rows[kWeights] = avx512::kWords;
  __asm__ volatile("ldtilecfg %0" : : "m"(config));
}

void release() {
  __asm__ volatile("tilerelease" : : :);
}

template <int kTile>
O3_INLINE void load_tile(const void* from, int64_t stride) {
  __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2"
                   :
                   : "r"(from), "r"(stride), "i"(kTile)
                   : "memory");
}

// Signed activations by unsigned weights, into a fresh product, which goes to `to`.
template <int kTile>
O3_INLINE void multiply(int32_t* to) {
  __asm__ volatile(
      "tilezero %%tmm%c2\n\t"
      "tdpbsud %%tmm%c4, %%tmm%c3, %%tmm%c2\n\t"
      "tilestored %%tmm%c2, (%0,%1,1)"
      :
      : "r"(to), "r"(int64_t{64}), "i"(kTile), "i"(kActivations), "i"(kWeights)
      : "memory");
}

template <int kTile>
O3_INLINE void dot_block(const Block& block, const uint8_t* x, int32_t* to) {
  load_tile<kActivations>(x, kBlock);
  load_tile<kWeights>(block.words, 64);
  multiply<kTile>(to);
}

// acc[r] += the scaled dot products of one block; the roundings of avx512::add_block().
template <class Format>
O3_INLINE void scale_block(const Block& block, const uint8_t* x, const int32_t* dots, __m512* acc) {
  const auto* scale = reinterpret_cast<const float*>(x + kPanel * kScaleAt);
  // Unsigned, because the sums of missing rows are anything and must not overflow.
  const auto* isum = reinterpret_cast<const uint32_t*>(scale + 3 * kPanel);
  O3_UNROLL
  for (int r = 0; r < kPanel; ++r) {
    __m512i dot = _mm512_loadu_si512(dots + r * 16);
    if (Format::kBias != 0) {
      const uint32_t bias = static_cast<uint32_t>(Format::kBias) * isum[r];
      dot = _mm512_sub_epi32(dot, _mm512_set1_epi32(static_cast<int>(bias)));
    }
    avx512::add_dot<Format, kPanel>(block, dot, scale + r, acc[r]);
  }
}

struct AmxPanels {
  static void begin() { configure(); }
  static void end() { release(); }

  // Missing rows of the last panel are computed from what happens to be there and not stored.
  template <class Format>
  static void run(const LinearTile& t, const Pass& pass, int64_t rows) {
    __m512 acc[kPanel];
    O3_UNROLL
    for (int r = 0; r < kPanel; ++r) {
      acc[r] = pass.from_y && r < rows ? _mm512_maskz_loadu_ps(pass.outs, pass.y + r * t.y_stride)
                                       : _mm512_setzero_ps();
    }
    alignas(64) int32_t dots[2][kPanel * 16];
    constexpr int64_t kRecord = kPanel * kQuantBytes;
    const int64_t blocks = pass.end_block - pass.first_block;
    dot_block<kProduct>(pass.unpacked[0], pass.x, dots[0]);
    for (int64_t b = 0; b < blocks; b += 2) {
      const uint8_t* x = pass.x + b * kRecord;
      const bool second = b + 1 < blocks;
      if (second) dot_block<kProduct + 1>(pass.unpacked[b + 1], x + kRecord, dots[1]);
      scale_block<Format>(pass.unpacked[b], x, dots[0], acc);
      if (!second) break;
      if (b + 2 < blocks) dot_block<kProduct>(pass.unpacked[b + 2], x + 2 * kRecord, dots[0]);
      scale_block<Format>(pass.unpacked[b + 1], x + kRecord, dots[1], acc);
    }
    O3_UNROLL
    for (int r = 0; r < kPanel; ++r) {
      if (r < rows) _mm512_mask_storeu_ps(pass.y + r * t.y_stride, pass.outs, acc[r]);
    }
  }
};

}  // namespace

void linear_q4_0(const LinearTile& tile) {
  avx512::run<avx512::Nibbles0, AmxPanels>(tile);
}
void linear_q4_1(const LinearTile& tile) {
  avx512::run<avx512::Nibbles1, AmxPanels>(tile);
}
void linear_q8_0(const LinearTile& tile) {
  avx512::run<avx512::Bytes8, AmxPanels>(tile);
}

}  // namespace o3::kernels::cpu::amx
