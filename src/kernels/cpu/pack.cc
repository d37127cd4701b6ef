// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/pack.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/bytes.h"
#include "kernels/block_format.h"

namespace o3::kernels::cpu {
namespace {

constexpr int64_t kCacheLine = 64;

// Bytes of a block's planes for one lane.
struct Planes {
  int64_t quants;
  int64_t high;
  int64_t scales;      // per block
  int64_t min_scales;  // per block
  bool minimum;
  int64_t chunk_blocks;  // 0: the whole row
};

Planes planes_of(const BlockFormat& format) noexcept {
  const int32_t low_bits = format.bits >= 8 ? 8 : format.bits >= 4 ? 4 : 2;
  const bool k_type = format.scale_bits != 0;
  Planes planes{};
  planes.quants = low_bits * kBlock / 8;
  planes.high = (format.bits - low_bits) * kBlock / 8;
  planes.scales = k_type ? format.sub_blocks : 0;
  // Scales of 4 bits share their byte with the scale of the minimum.
  const bool own_byte = format.minimum == Minimum::kScaled && format.scale_bits == 8;
  planes.min_scales = own_byte ? format.sub_blocks : 0;
  planes.minimum = format.minimum != Minimum::kNone;
  planes.chunk_blocks = k_type ? device::traits(format.dtype).block_elements / kBlock : 0;
  return planes;
}

// The quants of a block as words: byte t of word w is input 4w + t.
using Words = std::array<uint32_t, 8>;

Words words_of(const WeightBlock& block, uint8_t flip) noexcept {
  Words words{};
  std::memcpy(words.data(), block.q.data(), sizeof words);
  const uint32_t mask = flip * 0x01010101U;
  for (uint32_t& word : words) word ^= mask;
  return words;
}

// Bits [from, from + 1) or [from, from + 2) of the bytes, as linear_tile.h has them.
uint32_t one_bit_word(const Words& words, int32_t from) noexcept {
  uint32_t all = 0;
  for (uint32_t k = 0; k < 8; ++k) all |= (words[k] >> from & 0x01010101U) << k;
  return all;
}
uint32_t two_bit_word(const Words& words, int32_t from, size_t half) noexcept {
  uint32_t all = 0;
  for (uint32_t k = 0; k < 4; ++k) all |= (words[4 * half + k] >> from & 0x03030303U) << 2 * k;
  return all;
}

// Writes one lane's blocks into its group's record.
class RowPacker {
 public:
  RowPacker(const BlockFormat& format, const WeightLayout& layout, SignedBytes bytes, int64_t lane,
            std::byte* record) noexcept
      : format_(format), planes_(planes_of(format)), layout_(layout), lane_(lane), record_(record) {
    // WeightBlock has 8-bit quants with their top bit flipped.
    flip_ = format.bits == 8 && bytes == SignedBytes::kAsIs ? 0x80 : 0;
  }

  void block(const WeightBlock& from, int64_t index) const noexcept {
    std::byte* chunk = record_ + index / layout_.chunk_blocks * layout_.chunk_bytes;
    const int64_t b = index % layout_.chunk_blocks;
    const Words words = words_of(from, flip_);
    quants(words, chunk + b * planes_.quants * layout_.lanes);
    if (planes_.high != 0) {
      high_bits(words, chunk + layout_.high_offset + b * planes_.high * layout_.lanes);
    }
    scales(from, chunk, b);
    const bool of_chunk = planes_.chunk_blocks != 0;
    const int64_t at = ((of_chunk ? 0 : b) * layout_.lanes + lane_) * 2;
    std::memcpy(chunk + layout_.d_offset + at, &from.d, 2);
    if (planes_.minimum) std::memcpy(chunk + layout_.m_offset + at, &from.m, 2);
  }

 private:
  void put(std::byte* plane, int64_t word, uint32_t value) const noexcept {
    std::memcpy(plane + (word * layout_.lanes + lane_) * 4, &value, sizeof value);
  }

  void quants(const Words& words, std::byte* plane) const noexcept {
    const int64_t count = planes_.quants / 4;
    for (int64_t w = 0; w < count; ++w) {
      const auto i = static_cast<size_t>(w);
      if (count == 8) put(plane, w, words[i]);
      if (count == 4) {
        put(plane, w, (words[i] & 0x0f0f0f0fU) | (words[i + 4] & 0x0f0f0f0fU) << 4U);
      }
      if (count == 2) put(plane, w, two_bit_word(words, 0, i));
    }
  }

  void high_bits(const Words& words, std::byte* plane) const noexcept {
    if (planes_.high == 4) put(plane, 0, one_bit_word(words, format_.bits - 1));
    if (planes_.high == 8) {
      put(plane, 0, two_bit_word(words, 4, 0));
      put(plane, 1, two_bit_word(words, 4, 1));
    }
  }

  void scales(const WeightBlock& from, std::byte* chunk, int64_t b) const noexcept {
    std::byte* scales = chunk + layout_.scale_offset + b * planes_.scales * layout_.lanes + lane_;
    for (int64_t s = 0; s < planes_.scales; ++s) {
      const auto i = static_cast<size_t>(s);
      auto value = static_cast<uint8_t>(from.scale[i]);
      if (format_.scale_bits == 4) value |= static_cast<uint8_t>(from.min_scale[i] << 4U);
      scales[s * layout_.lanes] = std::byte{value};
    }
    std::byte* min_scales =
        chunk + layout_.min_scale_offset + b * planes_.min_scales * layout_.lanes + lane_;
    for (int64_t s = 0; s < planes_.min_scales; ++s) {
      min_scales[s * layout_.lanes] = std::byte{from.min_scale[static_cast<size_t>(s)]};
    }
  }

  const BlockFormat& format_;
  Planes planes_;
  const WeightLayout& layout_;
  int64_t lane_;
  std::byte* record_;
  uint8_t flip_ = 0;
};

void pack_plain_row(const std::byte* row, int64_t in, int64_t element, const WeightLayout& layout,
                    int64_t lane, std::byte* record) noexcept {
  const auto size = static_cast<size_t>(element);
  for (int64_t i = 0; i < in; ++i) {
    std::memcpy(record + (i * layout.lanes + lane) * element, row + i * element, size);
  }
}

void pack_row(DType dtype, const std::byte* row, int64_t in, const WeightLayout& layout,
              SignedBytes bytes, int64_t lane, std::byte* record) noexcept {
  const BlockFormat* format = block_format(dtype);
  if (format == nullptr) {
    return pack_plain_row(row, in, device::traits(dtype).block_bytes, layout, lane, record);
  }
  const RowPacker packer(*format, layout, bytes, lane, record);
  for (int64_t b = 0; b < in / kBlock; ++b) packer.block(read_block(*format, row, b), b);
}

}  // namespace

WeightLayout weight_layout(DType dtype, int64_t in, int32_t lanes) noexcept {
  WeightLayout layout{.lanes = lanes};
  const BlockFormat* format = block_format(dtype);
  if (format == nullptr) {
    layout.group_bytes = round_up(device::row_bytes(dtype, in) * lanes, kCacheLine);
    return layout;
  }
  const Planes planes = planes_of(*format);
  const int64_t blocks = in / kBlock;
  layout.chunk_blocks = planes.chunk_blocks != 0 ? planes.chunk_blocks : blocks;
  const int64_t per_plane = layout.chunk_blocks * lanes;
  const int64_t halves = planes.chunk_blocks != 0 ? 2 * lanes : 2 * per_plane;
  layout.high_offset = per_plane * planes.quants;
  layout.scale_offset = layout.high_offset + per_plane * planes.high;
  layout.min_scale_offset = layout.scale_offset + per_plane * planes.scales;
  layout.d_offset = layout.min_scale_offset + per_plane * planes.min_scales;
  layout.m_offset = layout.d_offset + halves;
  // Registers of words stay aligned in every chunk.
  layout.chunk_bytes =
      round_up(layout.m_offset + (planes.minimum ? halves : 0), int64_t{4} * lanes);
  layout.group_bytes = round_up(blocks / layout.chunk_blocks * layout.chunk_bytes, kCacheLine);
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
      pack_row(dtype, rows[static_cast<size_t>(g * layout.lanes + lane)], in, layout, bytes, lane,
               record);
    }
  }
}

}  // namespace o3::kernels::cpu
