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
using Lane = std::array<float, kLanes>;

struct Group {
  const uint8_t* record;
  int64_t first_out;
  int64_t outs;  // that exist
};

template <class Body>
void for_each_group_and_row(const LinearTile& tile, const Body& body) {
  for (int64_t g = 0; g < tile.groups; ++g) {
    const int64_t first = g * kLanes;
    const Group group{tile.weights + g * tile.layout.group_bytes, first,
                      std::min(kLanes, tile.outs - first)};
    for (int64_t row = 0; row < tile.rows; ++row) {
      float* y = tile.y + row * tile.y_stride + first;
      Lane acc{};
      if (tile.accumulate) std::copy_n(y, group.outs, acc.begin());
      body(group, row, acc);
      std::copy_n(acc.begin(), group.outs, y);
    }
  }
}

// Element i of a block for each lane. The formats below give quants as integers q with
// weight = d * q + m.
struct Q4 {
  static constexpr int64_t kBlockBytes = 16;
  static int32_t quant(const uint8_t* block, int64_t i, int64_t lane) {
    const uint8_t byte = block[(i % 16 / 4 * kLanes + lane) * 4 + i % 4];
    return i < 16 ? byte & 0xf : byte >> 4;
  }
};
struct Q4Offset : Q4 {  // Q4_0: m = -8 d
  static float minimum(const WeightLayout&, const uint8_t*, int64_t, float d) { return -8 * d; }
};
struct Q4Minimum : Q4 {  // Q4_1
  static float minimum(const WeightLayout& layout, const uint8_t* record, int64_t index, float) {
    return load_half(record + layout.m_offset + 2 * index);
  }
};
struct Q8 {
  static constexpr int64_t kBlockBytes = 32;
  static int32_t quant(const uint8_t* block, int64_t i, int64_t lane) {
    return static_cast<int8_t>(block[(i / 4 * kLanes + lane) * 4 + i % 4]);
  }
  static float minimum(const WeightLayout&, const uint8_t*, int64_t, float) { return 0; }
};

float load_float(const uint8_t* from) {
  float value = 0;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class Format>
void linear_int8(const LinearTile& tile) {
  const int64_t blocks = tile.in / kBlock;
  for_each_group_and_row(tile, [&](const Group& group, int64_t row, Lane& acc) {
    for (int64_t b = 0; b < blocks; ++b) {
      const uint8_t* quants = group.record + b * kLanes * Format::kBlockBytes;
      const int64_t height = tile.xq.height;
      const uint8_t* record = tile.xq.data + ((row / height * blocks) + b) * height * kQuantBytes;
      const auto* x = reinterpret_cast<const int8_t*>(record + row % height * kBlock);
      std::array<int32_t, kLanes> dot{};
      std::array<int32_t, kLanes> total{};
      for (int64_t i = 0; i < kBlock; ++i) {
        for (int64_t lane = 0; lane < kLanes; ++lane) {
          const int32_t quant = Format::quant(quants, i, lane);
          dot[lane] += quant * x[i];
          total[lane] += quant;
        }
      }
      const float scale = load_float(record + height * kScaleAt + row % height * 4);
      const float center = load_float(record + height * kCenterAt + row % height * 4);
      const float sum = load_float(record + height * kSumAt + row % height * 4);
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        const int64_t index = b * kLanes + lane;
        const float d = load_half(group.record + tile.layout.d_offset + 2 * index);
        const float m = Format::minimum(tile.layout, group.record, index, d);
        acc[lane] +=
            d * (static_cast<float>(dot[lane]) * scale + static_cast<float>(total[lane]) * center);
        acc[lane] += m * sum;
      }
    }
  });
}

template <class Format>
void linear_dequantized(const LinearTile& tile) {
  const int64_t blocks = tile.in / kBlock;
  for_each_group_and_row(tile, [&](const Group& group, int64_t row, Lane& acc) {
    for (int64_t b = 0; b < blocks; ++b) {
      const uint8_t* quants = group.record + b * kLanes * Format::kBlockBytes;
      const float* x = tile.x + row * tile.x_stride + b * kBlock;
      Lane d;
      Lane m;
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        const int64_t index = b * kLanes + lane;
        d[lane] = load_half(group.record + tile.layout.d_offset + 2 * index);
        m[lane] = Format::minimum(tile.layout, group.record, index, d[lane]);
      }
      for (int64_t i = 0; i < kBlock; ++i) {
        for (int64_t lane = 0; lane < kLanes; ++lane) {
          const auto q = static_cast<float>(Format::quant(quants, i, lane));
          acc[lane] += (d[lane] * q + m[lane]) * x[i];
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
  for_each_group_and_row(tile, [&](const Group& group, int64_t row, Lane& acc) {
    const float* x = tile.x + row * tile.x_stride;
    for (int64_t i = 0; i < tile.in; ++i) {
      std::array<T, kLanes> w;
      std::memcpy(w.data(), group.record + i * static_cast<int64_t>(sizeof w), sizeof w);
      for (int64_t lane = 0; lane < kLanes; ++lane) acc[lane] += widen(w[lane]) * x[i];
    }
  });
}

}  // namespace

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
    int32_t isum = 0;
    for (int64_t i = 0; i < kBlock; ++i) {
      // Only NaN or infinity leave the range; they must not make the cast undefined.
      const float scaled = std::min(std::max(-127.0F, (block[i] - center) * inverse), 127.0F);
      const auto value = static_cast<int32_t>(std::nearbyint(scaled));
      record[row * kBlock + i] = static_cast<uint8_t>(value);
      isum += value;
    }
    const float sum = scale * static_cast<float>(isum) + static_cast<float>(kBlock) * center;
    std::memcpy(record + height * kScaleAt + row * 4, &scale, sizeof scale);
    std::memcpy(record + height * kCenterAt + row * 4, &center, sizeof center);
    std::memcpy(record + height * kSumAt + row * 4, &sum, sizeof sum);
    std::memcpy(record + height * kIsumAt + row * 4, &isum, sizeof isum);
  }
}

void linear_q4_0(const LinearTile& tile) {
  linear_int8<Q4Offset>(tile);
}
void linear_q4_1(const LinearTile& tile) {
  linear_int8<Q4Minimum>(tile);
}
void linear_q8_0(const LinearTile& tile) {
  linear_int8<Q8>(tile);
}
void linear_q4_0_f32(const LinearTile& tile) {
  linear_dequantized<Q4Offset>(tile);
}
void linear_q4_1_f32(const LinearTile& tile) {
  linear_dequantized<Q4Minimum>(tile);
}
void linear_q8_0_f32(const LinearTile& tile) {
  linear_dequantized<Q8>(tile);
}
void linear_f32(const LinearTile& tile) {
  linear_plain<float>(tile);
}
void linear_f16(const LinearTile& tile) {
  linear_plain<Half>(tile);
}
void linear_bf16(const LinearTile& tile) {
  linear_plain<BFloat>(tile);
}

}  // namespace o3::kernels::cpu::generic
