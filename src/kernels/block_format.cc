// SPDX-License-Identifier: Apache-2.0
#include "kernels/block_format.h"

#include <cstring>

namespace o3::kernels {
namespace {

constexpr int64_t kBlock = 32;

uint8_t byte_at(const std::byte* at, int64_t index) noexcept {
  return std::to_integer<uint8_t>(at[index]);
}

uint16_t half_at(const std::byte* at) noexcept {
  uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return bits;
}

// 16 bytes: low halves are weights 0-15, high halves 16-31.
void read_nibbles(const std::byte* at, WeightBlock& to) noexcept {
  for (size_t i = 0; i < 16; ++i) {
    const uint8_t byte = byte_at(at, static_cast<int64_t>(i));
    to.q[i] = byte & 0xf;
    to.q[i + 16] = byte >> 4;
  }
}

// One more bit of each weight, at bit 4.
void add_fifth_bits(const std::byte* at, WeightBlock& to) noexcept {
  uint32_t high = 0;
  std::memcpy(&high, at, sizeof high);
  for (size_t i = 0; i < 32; ++i) to.q[i] |= static_cast<uint8_t>((high >> i & 1U) << 4);
}

void read_q4_0(const std::byte* block, int64_t, WeightBlock& to) noexcept {
  to.d = half_at(block);
  read_nibbles(block + 2, to);
}
void read_q4_1(const std::byte* block, int64_t, WeightBlock& to) noexcept {
  to.d = half_at(block);
  to.m = half_at(block + 2);
  read_nibbles(block + 4, to);
}
void read_q5_0(const std::byte* block, int64_t, WeightBlock& to) noexcept {
  to.d = half_at(block);
  read_nibbles(block + 6, to);
  add_fifth_bits(block + 2, to);
}
void read_q5_1(const std::byte* block, int64_t, WeightBlock& to) noexcept {
  to.d = half_at(block);
  to.m = half_at(block + 2);
  read_nibbles(block + 8, to);
  add_fifth_bits(block + 4, to);
}
void read_q8_0(const std::byte* block, int64_t, WeightBlock& to) noexcept {
  to.d = half_at(block);
  for (size_t i = 0; i < 32; ++i) to.q[i] = byte_at(block + 2, static_cast<int64_t>(i)) ^ 0x80;
}

// K types: 256 weights, of which every 32 consecutive ones share their bytes with others of the
// block. `bits` of each of 32 bytes, from bit `from` on.
void read_fields(const std::byte* at, int64_t from, uint8_t mask, WeightBlock& to) noexcept {
  for (size_t i = 0; i < 32; ++i) {
    to.q[i] = static_cast<uint8_t>(byte_at(at, static_cast<int64_t>(i)) >> from & mask);
  }
}
void add_fields(const std::byte* at, int64_t from, uint8_t mask, int shift,
                WeightBlock& to) noexcept {
  for (size_t i = 0; i < 32; ++i) {
    const int field = byte_at(at, static_cast<int64_t>(i)) >> from & mask;
    to.q[i] |= static_cast<uint8_t>(field << shift);
  }
}

// 16 x {scale 4 bits, minimum 4 bits}, 64 bytes of 2 bits, d, m
void read_q2_k(const std::byte* block, int64_t index, WeightBlock& to) noexcept {
  for (size_t h = 0; h < 2; ++h) {
    const uint8_t both = byte_at(block, 2 * index + static_cast<int64_t>(h));
    to.scale[h] = static_cast<int8_t>(both & 0xf);
    to.min_scale[h] = both >> 4;
  }
  read_fields(block + 16 + index / 4 * 32, index % 4 * 2, 3, to);
  to.d = half_at(block + 80);
  to.m = half_at(block + 82);
}

// 32 bytes of high bits, 64 bytes of 2 bits, 12 bytes of 6-bit scales, d
void read_q3_k(const std::byte* block, int64_t index, WeightBlock& to) noexcept {
  read_fields(block + 32 + index / 4 * 32, index % 4 * 2, 3, to);
  add_fields(block, index, 1, 2, to);
  // Of scale s, byte s % 8 has the low 4 bits, in its low half when s < 8; byte 8 + s % 4 has 2
  // more.
  const std::byte* scales = block + 96;
  for (size_t h = 0; h < 2; ++h) {
    const int64_t s = 2 * index + static_cast<int64_t>(h);
    const int low = byte_at(scales, s % 8) >> (s < 8 ? 0 : 4) & 0xf;
    const int high = byte_at(scales, 8 + s % 4) >> (s / 4 * 2) & 3;
    to.scale[h] = static_cast<int8_t>((low | high << 4) - 32);
  }
  to.d = half_at(block + 108);
}

// d, m, 12 bytes of 8 x {scale 6 bits, minimum 6 bits}
void read_scales_k4(const std::byte* block, int64_t index, WeightBlock& to) noexcept {
  to.d = half_at(block);
  to.m = half_at(block + 2);
  const std::byte* s = block + 4;
  int scale = 0;
  int minimum = 0;
  if (index < 4) {
    scale = byte_at(s, index) & 0x3f;
    minimum = byte_at(s, index + 4) & 0x3f;
  } else {
    const uint8_t both = byte_at(s, index + 4);
    scale = (both & 0xf) | byte_at(s, index - 4) >> 6 << 4;
    minimum = both >> 4 | byte_at(s, index) >> 6 << 4;
  }
  to.scale.fill(static_cast<int8_t>(scale));
  to.min_scale.fill(static_cast<uint8_t>(minimum));
}
void read_q4_k(const std::byte* block, int64_t index, WeightBlock& to) noexcept {
  read_scales_k4(block, index, to);
  read_fields(block + 16 + index / 2 * 32, index % 2 * 4, 0xf, to);
}
void read_q5_k(const std::byte* block, int64_t index, WeightBlock& to) noexcept {
  read_scales_k4(block, index, to);
  read_fields(block + 48 + index / 2 * 32, index % 2 * 4, 0xf, to);
  add_fields(block + 16, index, 1, 4, to);
}

// 128 bytes of 4 bits, 64 bytes of 2 bits, 16 x i8 scales, d
void read_q6_k(const std::byte* block, int64_t index, WeightBlock& to) noexcept {
  const int64_t quarter = index % 4;
  read_fields(block + index / 4 * 64 + quarter % 2 * 32, quarter / 2 * 4, 0xf, to);
  add_fields(block + 128 + index / 4 * 32, quarter * 2, 3, 4, to);
  for (size_t h = 0; h < 2; ++h) {
    to.scale[h] = static_cast<int8_t>(byte_at(block + 192, 2 * index + static_cast<int64_t>(h)));
  }
  to.d = half_at(block + 208);
}

constexpr std::array<int8_t, 16> kIq4Nl{-127, -104, -83, -65, -49, -35, -22, -10,
                                        1,    13,   25,  38,  53,  69,  89,  113};

constexpr std::array kFormats{
    BlockFormat{DType::kQ4_0, 4, 8, 0, 1, Minimum::kNone, nullptr, read_q4_0},
    BlockFormat{DType::kQ4_1, 4, 0, 0, 1, Minimum::kStored, nullptr, read_q4_1},
    BlockFormat{DType::kQ5_0, 5, 16, 0, 1, Minimum::kNone, nullptr, read_q5_0},
    BlockFormat{DType::kQ5_1, 5, 0, 0, 1, Minimum::kStored, nullptr, read_q5_1},
    BlockFormat{DType::kQ8_0, 8, 128, 0, 1, Minimum::kNone, nullptr, read_q8_0},
    BlockFormat{DType::kQ2_K, 2, 0, 4, 2, Minimum::kScaled, nullptr, read_q2_k},
    BlockFormat{DType::kQ3_K, 3, 4, 8, 2, Minimum::kNone, nullptr, read_q3_k},
    BlockFormat{DType::kQ4_K, 4, 0, 8, 1, Minimum::kScaled, nullptr, read_q4_k},
    BlockFormat{DType::kQ5_K, 5, 0, 8, 1, Minimum::kScaled, nullptr, read_q5_k},
    BlockFormat{DType::kQ6_K, 6, 32, 8, 2, Minimum::kNone, nullptr, read_q6_k},
    BlockFormat{DType::kIQ4_NL, 4, 0, 0, 1, Minimum::kNone, kIq4Nl.data(), read_q4_0},
};

}  // namespace

const BlockFormat* block_format(DType dtype) noexcept {
  for (const BlockFormat& format : kFormats) {
    if (format.dtype == dtype) return &format;
  }
  return nullptr;
}

WeightBlock read_block(const BlockFormat& format, const std::byte* row, int64_t index) noexcept {
  const device::DTypeTraits& traits = device::traits(format.dtype);
  const int64_t per_block = traits.block_elements / kBlock;
  WeightBlock block;
  format.read(row + index / per_block * traits.block_bytes, index % per_block, block);
  return block;
}

}  // namespace o3::kernels
