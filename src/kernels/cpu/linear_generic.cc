// SPDX-License-Identifier: Apache-2.0
// Plain C++ kernels for any machine. Lanes are the innermost loop, so that compilers vectorise.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "kernels/cpu/half.h"
#include "kernels/cpu/linear_tile.h"

namespace o3::kernels::cpu::generic {
namespace {

constexpr int64_t kLanes = 8;
// Rows that share the unpacking of a block.
constexpr int64_t kStrip = 16;
using Lane = std::array<float, kLanes>;
using LaneInts = std::array<int32_t, kLanes>;

// Rows [0, rows) of a group's outputs, kept while the inputs go by.
struct Strip {
  const uint8_t* record;
  int64_t first_row;
  int64_t rows;
  std::array<Lane, kStrip> acc;
};

template <class Body>
void for_each_strip(const LinearTile& tile, const Body& body) {
  for (int64_t g = 0; g < tile.groups; ++g) {
    const int64_t outs = std::min(kLanes, tile.outs - g * kLanes);
    for (int64_t row = 0; row < tile.rows; row += kStrip) {
      Strip strip{
          tile.weights + g * tile.layout.group_bytes, row, std::min(kStrip, tile.rows - row), {}};
      float* y = tile.y + row * tile.y_stride + g * kLanes;
      for (int64_t r = 0; tile.accumulate && r < strip.rows; ++r) {
        std::copy_n(y + r * tile.y_stride, outs, strip.acc[r].begin());
      }
      body(strip);
      for (int64_t r = 0; r < strip.rows; ++r) {
        std::copy_n(strip.acc[r].begin(), outs, y + r * tile.y_stride);
      }
    }
  }
}

// Where the planes of block b lie; see WeightLayout.
struct BlockPlanes {
  const uint8_t* quants;
  const uint8_t* high;
  const uint8_t* scales;
  const uint8_t* min_scales;
  const uint8_t* d;
  const uint8_t* m;
};

// Element i of a block for one lane.
uint32_t nibble(const uint8_t* plane, int64_t i, int64_t lane) {
  const uint32_t byte = plane[(i % 16 / 4 * kLanes + lane) * 4 + i % 4];
  return i < 16 ? byte & 0xf : byte >> 4;
}
uint32_t crumb(const uint8_t* plane, int64_t i, int64_t lane) {
  const uint32_t byte = plane[(i / 16 * kLanes + lane) * 4 + i % 4];
  return byte >> (i % 16 / 4 * 2) & 3;
}
uint32_t bit(const uint8_t* plane, int64_t i, int64_t lane) {
  return plane[lane * 4 + i % 4] >> (i / 4) & 1U;
}
int32_t byte(const uint8_t* plane, int64_t i, int64_t lane) {
  return static_cast<int8_t>(plane[(i / 4 * kLanes + lane) * 4 + i % 4]);
}

constexpr std::array<int8_t, 16> kIq4Nl{-127, -104, -83, -65, -49, -35, -22, -10,
                                        1,    13,   25,  38,  53,  69,  89,  113};

// What differs between formats. kQuants, kHigh: bytes per block and lane. kSubBlocks: scales per
// block. kScaled: they are bytes times d of the chunk, as K formats have them.
// NOLINTBEGIN(readability-identifier-naming): the names are ggml's
struct Q4_0 {
  static constexpr int64_t kQuants = 16, kHigh = 0, kSubBlocks = 1;
  static constexpr bool kScaled = false, kMinimum = false;
  static int32_t quant(const BlockPlanes& p, int64_t i, int64_t lane) {
    return static_cast<int32_t>(nibble(p.quants, i, lane)) - 8;
  }
};
struct Q4_1 : Q4_0 {
  static constexpr bool kMinimum = true;
  static int32_t quant(const BlockPlanes& p, int64_t i, int64_t lane) {
    return static_cast<int32_t>(nibble(p.quants, i, lane));
  }
};
struct Iq4Nl : Q4_0 {
  static int32_t quant(const BlockPlanes& p, int64_t i, int64_t lane) {
    return kIq4Nl[nibble(p.quants, i, lane)];
  }
};
struct Q5_1 {
  static constexpr int64_t kQuants = 16, kHigh = 4, kSubBlocks = 1;
  static constexpr bool kScaled = false, kMinimum = true;
  static int32_t quant(const BlockPlanes& p, int64_t i, int64_t lane) {
    return static_cast<int32_t>(nibble(p.quants, i, lane) | bit(p.high, i, lane) << 4);
  }
};
struct Q5_0 : Q5_1 {
  static constexpr bool kMinimum = false;
  static int32_t quant(const BlockPlanes& p, int64_t i, int64_t lane) {
    return Q5_1::quant(p, i, lane) - 16;
  }
};
struct Q8_0 {
  static constexpr int64_t kQuants = 32, kHigh = 0, kSubBlocks = 1;
  static constexpr bool kScaled = false, kMinimum = false;
  static int32_t quant(const BlockPlanes& p, int64_t i, int64_t lane) {
    return byte(p.quants, i, lane);
  }
};
struct Q2_K {
  static constexpr int64_t kQuants = 8, kHigh = 0, kSubBlocks = 2;
  static constexpr bool kScaled = true, kMinimum = true;
  static int32_t quant(const BlockPlanes& p, int64_t i, int64_t lane) {
    return static_cast<int32_t>(crumb(p.quants, i, lane));
  }
  static int32_t scale(const BlockPlanes& p, int64_t at) { return p.scales[at] & 0xf; }
  static int32_t min_scale(const BlockPlanes& p, int64_t at) { return p.scales[at] >> 4; }
};
struct Q3_K {
  static constexpr int64_t kQuants = 8, kHigh = 4, kSubBlocks = 2;
  static constexpr bool kScaled = true, kMinimum = false;
  static int32_t quant(const BlockPlanes& p, int64_t i, int64_t lane) {
    return static_cast<int32_t>(crumb(p.quants, i, lane) | bit(p.high, i, lane) << 2) - 4;
  }
  static int32_t scale(const BlockPlanes& p, int64_t at) {
    return static_cast<int8_t>(p.scales[at]);
  }
};
struct Q4_K : Q4_1 {
  static constexpr bool kScaled = true;
  static int32_t scale(const BlockPlanes& p, int64_t at) { return p.scales[at]; }
  static int32_t min_scale(const BlockPlanes& p, int64_t at) { return p.min_scales[at]; }
};
struct Q5_K : Q5_1 {
  static constexpr bool kScaled = true;
  static int32_t scale(const BlockPlanes& p, int64_t at) { return p.scales[at]; }
  static int32_t min_scale(const BlockPlanes& p, int64_t at) { return p.min_scales[at]; }
};
struct Q6_K {
  static constexpr int64_t kQuants = 16, kHigh = 8, kSubBlocks = 2;
  static constexpr bool kScaled = true, kMinimum = false;
  static int32_t quant(const BlockPlanes& p, int64_t i, int64_t lane) {
    return static_cast<int32_t>(nibble(p.quants, i, lane) | crumb(p.high, i, lane) << 4) - 32;
  }
  static int32_t scale(const BlockPlanes& p, int64_t at) {
    return static_cast<int8_t>(p.scales[at]);
  }
};

// NOLINTEND(readability-identifier-naming)

template <class Format>
BlockPlanes planes_of(const WeightLayout& l, const uint8_t* record, int64_t index) {
  const uint8_t* chunk = record + index / l.chunk_blocks * l.chunk_bytes;
  const int64_t b = index % l.chunk_blocks;
  const int64_t half = Format::kScaled ? 0 : b * kLanes * 2;
  return {chunk + b * kLanes * Format::kQuants,
          chunk + l.high_offset + b * kLanes * Format::kHigh,
          chunk + l.scale_offset + b * kLanes * Format::kSubBlocks,
          chunk + l.min_scale_offset + b * kLanes * Format::kSubBlocks,
          chunk + l.d_offset + half,
          chunk + l.m_offset + half};
}

// A block of kLanes outputs: weight = d[s] * quants[i] + m[s], s the sub-block of i.
struct Block {
  std::array<LaneInts, kBlock> quants;
  std::array<Lane, 2> d;
  std::array<Lane, 2> m;
  std::array<LaneInts, 2> total;  // sums of quants
};

template <class Format>
Block unpack(const WeightLayout& layout, const uint8_t* record, int64_t index) {
  constexpr int64_t kSub = kBlock / Format::kSubBlocks;
  const BlockPlanes planes = planes_of<Format>(layout, record, index);
  Block block{};
  for (int64_t i = 0; i < kBlock; ++i) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      block.quants[i][lane] = Format::quant(planes, i, lane);
      block.total[i / kSub][lane] += block.quants[i][lane];
    }
  }
  for (int64_t s = 0; s < Format::kSubBlocks; ++s) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      block.d[s][lane] = load_half(planes.d + 2 * lane);
      if constexpr (Format::kMinimum) block.m[s][lane] = load_half(planes.m + 2 * lane);
      if constexpr (Format::kScaled) {
        block.d[s][lane] *= static_cast<float>(Format::scale(planes, s * kLanes + lane));
      }
      if constexpr (Format::kScaled && Format::kMinimum) {
        block.m[s][lane] *= -static_cast<float>(Format::min_scale(planes, s * kLanes + lane));
      }
    }
  }
  return block;
}

template <class T>
T load(const uint8_t* from) {
  T value{};
  std::memcpy(&value, from, sizeof value);
  return value;
}

// A row of the activations' record of one block.
struct QuantRow {
  const int8_t* q;
  float scale;
  float center;
  std::array<int16_t, 2> isums;
};

QuantRow quant_row(const QuantRows& xq, int64_t blocks, int64_t row, int64_t b) {
  const int64_t height = xq.height;
  const uint8_t* record = xq.data + (row / height * blocks + b) * height * kQuantBytes;
  const int64_t at = row % height * 4;
  return {reinterpret_cast<const int8_t*>(record + row % height * kBlock),
          load<float>(record + height * kScaleAt + at),
          load<float>(record + height * kCenterAt + at),
          load<std::array<int16_t, 2>>(record + height * kIsumsAt + at)};
}

template <class Format>
void add_block(const Block& block, const QuantRow& x, Lane& acc) {
  constexpr int64_t kSub = kBlock / Format::kSubBlocks;
  for (int64_t s = 0; s < Format::kSubBlocks; ++s) {
    LaneInts dot{};
    for (int64_t i = s * kSub; i < (s + 1) * kSub; ++i) {
      for (int64_t lane = 0; lane < kLanes; ++lane) dot[lane] += block.quants[i][lane] * x.q[i];
    }
    const int32_t isum = Format::kSubBlocks == 1 ? x.isums[0] + x.isums[1] : x.isums[s];
    const float sum = x.scale * static_cast<float>(isum) + static_cast<float>(kSub) * x.center;
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      acc[lane] += block.d[s][lane] * (static_cast<float>(dot[lane]) * x.scale +
                                       static_cast<float>(block.total[s][lane]) * x.center);
      if constexpr (Format::kMinimum) acc[lane] += block.m[s][lane] * sum;
    }
  }
}

template <class Format>
void linear_int8(const LinearTile& tile) {
  const int64_t blocks = tile.in / kBlock;
  for_each_strip(tile, [&](Strip& strip) {
    for (int64_t b = 0; b < blocks; ++b) {
      const Block block = unpack<Format>(tile.layout, strip.record, b);
      for (int64_t r = 0; r < strip.rows; ++r) {
        add_block<Format>(block, quant_row(tile.xq, blocks, strip.first_row + r, b), strip.acc[r]);
      }
    }
  });
}

template <class Format>
void linear_dequantized(const LinearTile& tile) {
  constexpr int64_t kSub = kBlock / Format::kSubBlocks;
  for_each_strip(tile, [&](Strip& strip) {
    for (int64_t b = 0; b < tile.in / kBlock; ++b) {
      const Block block = unpack<Format>(tile.layout, strip.record, b);
      for (int64_t r = 0; r < strip.rows; ++r) {
        const float* x = tile.x + (strip.first_row + r) * tile.x_stride + b * kBlock;
        for (int64_t i = 0; i < kBlock; ++i) {
          for (int64_t lane = 0; lane < kLanes; ++lane) {
            const auto q = static_cast<float>(block.quants[i][lane]);
            strip.acc[r][lane] += (block.d[i / kSub][lane] * q + block.m[i / kSub][lane]) * x[i];
          }
        }
      }
    }
  });
}

float widen(float value) {
  return value;
}
struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};
float widen(Half value) {
  return half_to_float(value.bits);
}
float widen(BFloat value) {
  return bfloat_to_float(value.bits);
}

template <class T>
void linear_plain(const LinearTile& tile) {
  for_each_strip(tile, [&](Strip& strip) {
    const float* x = tile.x + strip.first_row * tile.x_stride;
    for (int64_t i = 0; i < tile.in; ++i) {
      std::array<T, kLanes> packed;
      std::memcpy(packed.data(), strip.record + i * static_cast<int64_t>(sizeof packed),
                  sizeof packed);
      Lane w;
      for (int64_t lane = 0; lane < kLanes; ++lane) w[lane] = widen(packed[lane]);
      for (int64_t r = 0; r < strip.rows; ++r) {
        for (int64_t lane = 0; lane < kLanes; ++lane) {
          strip.acc[r][lane] += w[lane] * x[r * tile.x_stride + i];
        }
      }
    }
  });
}

}  // namespace

LinearTileFn int8_kernel(WeightFormat format) {
  switch (format) {
    case WeightFormat::kQ4_0:
      return linear_int8<Q4_0>;
    case WeightFormat::kQ4_1:
      return linear_int8<Q4_1>;
    case WeightFormat::kQ5_0:
      return linear_int8<Q5_0>;
    case WeightFormat::kQ5_1:
      return linear_int8<Q5_1>;
    case WeightFormat::kQ8_0:
      return linear_int8<Q8_0>;
    case WeightFormat::kQ2_K:
      return linear_int8<Q2_K>;
    case WeightFormat::kQ3_K:
      return linear_int8<Q3_K>;
    case WeightFormat::kQ4_K:
      return linear_int8<Q4_K>;
    case WeightFormat::kQ5_K:
      return linear_int8<Q5_K>;
    case WeightFormat::kQ6_K:
      return linear_int8<Q6_K>;
    case WeightFormat::kIQ4_NL:
      return linear_int8<Iq4Nl>;
    case WeightFormat::kF32:
    case WeightFormat::kF16:
    case WeightFormat::kBF16:
      return nullptr;
  }
  return nullptr;
}

LinearTileFn f32_kernel(WeightFormat format) {
  switch (format) {
    case WeightFormat::kF32:
      return linear_plain<float>;
    case WeightFormat::kF16:
      return linear_plain<Half>;
    case WeightFormat::kBF16:
      return linear_plain<BFloat>;
    case WeightFormat::kQ4_0:
      return linear_dequantized<Q4_0>;
    case WeightFormat::kQ4_1:
      return linear_dequantized<Q4_1>;
    case WeightFormat::kQ5_0:
      return linear_dequantized<Q5_0>;
    case WeightFormat::kQ5_1:
      return linear_dequantized<Q5_1>;
    case WeightFormat::kQ8_0:
      return linear_dequantized<Q8_0>;
    case WeightFormat::kQ2_K:
      return linear_dequantized<Q2_K>;
    case WeightFormat::kQ3_K:
      return linear_dequantized<Q3_K>;
    case WeightFormat::kQ4_K:
      return linear_dequantized<Q4_K>;
    case WeightFormat::kQ5_K:
      return linear_dequantized<Q5_K>;
    case WeightFormat::kQ6_K:
      return linear_dequantized<Q6_K>;
    case WeightFormat::kIQ4_NL:
      return linear_dequantized<Iq4Nl>;
  }
  return nullptr;
}

void quantize_row(const float* x, int64_t in, const QuantRows& panel, int64_t row) {
  const int64_t height = panel.height;
  for (int64_t b = 0; b < in / kBlock; ++b) {
    const float* block = x + b * kBlock;
    uint8_t* record = panel.data + b * height * kQuantBytes;
    float least = block[0];
    float most = block[0];
    for (int64_t i = 1; i < kBlock; ++i) {
      least = std::min(least, block[i]);
      most = std::max(most, block[i]);
    }
    const float center = 0.5F * most + 0.5F * least;
    const float span = 0.5F * most - 0.5F * least;
    const bool constant = span < kTinySpan;
    const float scale = constant ? 0.0F : span / 127.0F;
    const float inverse = constant ? 0.0F : 127.0F / span;
    std::array<int16_t, 2> isums{};
    for (int64_t i = 0; i < kBlock; ++i) {
      // Only NaN or infinity leave the range; they must not make the cast undefined.
      const float scaled = std::min(std::max(-127.0F, (block[i] - center) * inverse), 127.0F);
      const auto value = static_cast<int32_t>(std::nearbyint(scaled));
      record[row * kBlock + i] = static_cast<uint8_t>(value);
      isums[i / 16] = static_cast<int16_t>(isums[i / 16] + value);
    }
    const float isum = static_cast<float>(isums[0] + isums[1]);
    const float sum = scale * isum + static_cast<float>(kBlock) * center;
    std::memcpy(record + height * kScaleAt + row * 4, &scale, sizeof scale);
    std::memcpy(record + height * kCenterAt + row * 4, &center, sizeof center);
    std::memcpy(record + height * kSumAt + row * 4, &sum, sizeof sum);
    std::memcpy(record + height * kIsumsAt + row * 4, isums.data(), sizeof isums);
  }
}

}  // namespace o3::kernels::cpu::generic
