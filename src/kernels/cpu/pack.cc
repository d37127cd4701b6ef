// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/pack.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/check.h"

namespace o3::kernels::cpu {
namespace {

constexpr int64_t kCacheLine = 64;

// A block in file layout: F16 scale, F16 minimum or not, quants.
struct BlockShape {
  int64_t quant_bytes;
  bool minimum;
};

BlockShape block_shape(DType dtype) noexcept {
  if (dtype == DType::kQ4_0) return {16, false};
  if (dtype == DType::kQ4_1) return {16, true};
  O3_CHECK(dtype == DType::kQ8_0, "no packed layout for this dtype");
  return {32, false};
}

bool plain(DType dtype) noexcept {
  return !device::traits(dtype).quantized;
}

void pack_block_row(const std::byte* row, int64_t blocks, BlockShape shape,
                    const WeightLayout& layout, SignedBytes bytes, int64_t lane,
                    std::byte* record) noexcept {
  const int64_t lanes = layout.lanes;
  const auto bias = std::byte{static_cast<uint8_t>(bytes == SignedBytes::kBiased ? 0x80 : 0)};
  for (int64_t b = 0; b < blocks; ++b) {
    std::memcpy(record + layout.d_offset + (b * lanes + lane) * 2, row, 2);
    row += 2;
    if (shape.minimum) {
      std::memcpy(record + layout.m_offset + (b * lanes + lane) * 2, row, 2);
      row += 2;
    }
    std::byte* quants = record + b * lanes * shape.quant_bytes + lane * 4;
    for (int64_t i = 0; i < shape.quant_bytes; ++i) {
      quants[i / 4 * lanes * 4 + i % 4] = row[i] ^ bias;
    }
    row += shape.quant_bytes;
  }
}

void pack_plain_row(const std::byte* row, int64_t in, int64_t element, const WeightLayout& layout,
                    int64_t lane, std::byte* record) noexcept {
  const auto size = static_cast<size_t>(element);
  for (int64_t i = 0; i < in; ++i) {
    std::memcpy(record + (i * layout.lanes + lane) * element, row + i * element, size);
  }
}

}  // namespace

WeightLayout weight_layout(DType dtype, int64_t in, int32_t lanes) noexcept {
  WeightLayout layout{.lanes = lanes};
  if (plain(dtype)) {
    layout.group_bytes = device::row_bytes(dtype, in) * lanes;
  } else {
    const BlockShape shape = block_shape(dtype);
    const int64_t scales = in / kBlock * lanes * 2;
    layout.d_offset = in / kBlock * lanes * shape.quant_bytes;
    layout.m_offset = layout.d_offset + scales;
    layout.group_bytes = layout.d_offset + scales * (shape.minimum ? 2 : 1);
  }
  layout.group_bytes = round_up(layout.group_bytes, kCacheLine);
  return layout;
}

void pack_groups(DType dtype, int64_t in, const WeightLayout& layout, SignedBytes bytes,
                 std::span<const std::byte* const> rows, int64_t first, int64_t count,
                 std::byte* to) noexcept {
  const auto outs = static_cast<int64_t>(rows.size());
  for (int64_t g = first; g < first + count; ++g) {
    std::byte* record = to + (g - first) * layout.group_bytes;
    std::memset(record, 0, static_cast<size_t>(layout.group_bytes));
    const int64_t lanes = std::min<int64_t>(layout.lanes, outs - g * layout.lanes);
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const std::byte* row = rows[static_cast<size_t>(g * layout.lanes + lane)];
      if (plain(dtype)) {
        pack_plain_row(row, in, device::traits(dtype).block_bytes, layout, lane, record);
      } else {
        pack_block_row(row, in / kBlock, block_shape(dtype), layout, bytes, lane, record);
      }
    }
  }
}

}  // namespace o3::kernels::cpu
