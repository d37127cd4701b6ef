// SPDX-License-Identifier: Apache-2.0
// AMX: a tile product per panel of 16 rows, group of 16 outputs and block of 32 inputs, then the
// block's scales in FP32, so that the results are those of VNNI bit for bit. Rows come in panels:
// a few are VNNI's. See linear_tile.h for the rule on what this file may contain.
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

// Tiles: 0 to 3 dot products [16 rows][16 outputs] int32, two for each of two blocks, so that one
// block is computed while the other is scaled; 4 activations [16 rows][32 or 16]; 5 weights
// [8 or 4 words][16 outputs x 4], for one scale per block or two.
constexpr int kProducts = 4;
constexpr int kActivations = 4;
constexpr int kWeights = 5;
constexpr int kTileDots = kPanel * 16;

// Own wrappers: those of g++ 12 name neither the whole configuration nor the memory a tile is
// loaded from as inputs, so that stores to them may be dropped or moved behind.
void configure(int sub_blocks) {
  TileConfig config;
  for (int tile = 0; tile < kProducts; ++tile) {
    config.row_bytes[tile] = 64;
    config.rows[tile] = kPanel;
  }
  config.row_bytes[kActivations] = static_cast<uint16_t>(kBlock / sub_blocks);
  config.rows[kActivations] = kPanel;
  config.row_bytes[kWeights] = 64;
  config.rows[kWeights] = static_cast<uint8_t>(kWords / sub_blocks);
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

// Signed activations by signed weights, into a fresh product, which goes to `to`.
template <int kTile>
O3_INLINE void multiply(int32_t* to) {
  __asm__ volatile(
      "tilezero %%tmm%c2\n\t"
      "tdpbssd %%tmm%c4, %%tmm%c3, %%tmm%c2\n\t"
      "tilestored %%tmm%c2, (%0,%1,1)"
      :
      : "r"(to), "r"(int64_t{64}), "i"(kTile), "i"(kActivations), "i"(kWeights)
      : "memory");
}

// Dot products of each sub-block to to[sub block][16 rows][16 outputs].
template <class Format, int kParity>
O3_INLINE void dot_block(const Block<Format>& block, const uint8_t* x, int32_t* to) {
  load_tile<kActivations>(x, kBlock);
  load_tile<kWeights>(block.words, 64);
  multiply<2 * kParity>(to);
  if constexpr (Format::kSubBlocks == 2) {
    load_tile<kActivations>(x + kBlock / 2, kBlock);
    load_tile<kWeights>(block.words + kWords / 2, 64);
    multiply<2 * kParity + 1>(to + kTileDots);
  }
}

// acc[r] += the scaled dot products of one block; the roundings of avx512::add_block().
template <class Format>
O3_INLINE void scale_block(const Block<Format>& block, const uint8_t* x, const int32_t* to_scale,
                           __m512* acc) {
  const auto* scale = reinterpret_cast<const float*>(x + kPanel * kScaleAt);
  O3_UNROLL
  for (int r = 0; r < kPanel; ++r) {
    __m512i dots[2];
    dots[0] = _mm512_loadu_si512(to_scale + r * 16);
    if constexpr (Format::kSubBlocks == 2) {
      dots[1] = _mm512_loadu_si512(to_scale + kTileDots + r * 16);
    }
    avx512::add_dots<Format, kPanel>(block, dots, scale + r, acc[r]);
  }
}

struct AmxPanels {
  template <class Format>
  static void begin() {
    configure(Format::kSubBlocks);
  }
  static void end() { release(); }

  // Tiles multiply signed bytes as well, so the bias is taken off once instead of for every row.
  template <class Format>
  static void prepare(Block<Format>& block) {
    for (__m512i& words : block.words) {
      words = _mm512_sub_epi8(words, _mm512_set1_epi8(static_cast<char>(Format::kBias)));
    }
  }

  // Missing rows of the last panel are computed from what happens to be there and not stored.
  template <class Format>
  static void run(const LinearTile& t, const Pass& pass, const Block<Format>* unpacked,
                  int64_t rows) {
    __m512 acc[kPanel];
    O3_UNROLL
    for (int r = 0; r < kPanel; ++r) {
      acc[r] = pass.from_y && r < rows ? _mm512_maskz_loadu_ps(pass.outs, pass.y + r * t.y_stride)
                                       : _mm512_setzero_ps();
    }
    alignas(64) int32_t dots[2][Format::kSubBlocks * kTileDots];
    constexpr int64_t kRecord = kPanel * kQuantBytes;
    const int64_t blocks = pass.end_block - pass.first_block;
    dot_block<Format, 0>(unpacked[0], pass.x, dots[0]);
    for (int64_t b = 0; b < blocks; b += 2) {
      const uint8_t* x = pass.x + b * kRecord;
      const bool second = b + 1 < blocks;
      if (second) dot_block<Format, 1>(unpacked[b + 1], x + kRecord, dots[1]);
      scale_block<Format>(unpacked[b], x, dots[0], acc);
      if (!second) break;
      if (b + 2 < blocks) dot_block<Format, 0>(unpacked[b + 2], x + 2 * kRecord, dots[0]);
      scale_block<Format>(unpacked[b + 1], x + kRecord, dots[1], acc);
    }
    O3_UNROLL
    for (int r = 0; r < kPanel; ++r) {
      if (r < rows) _mm512_mask_storeu_ps(pass.y + r * t.y_stride, pass.outs, acc[r]);
    }
  }
};

template <class Format>
struct AmxKernel {
  static void run(const LinearTile& tile) { avx512::run_panels<Format, AmxPanels>(tile); }
};

}  // namespace

LinearTileFn int8_kernel(WeightFormat format) {
  return quant_kernel<avx512::Vec, AmxKernel>(format);
}

}  // namespace o3::kernels::cpu::amx
