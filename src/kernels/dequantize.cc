// SPDX-License-Identifier: Apache-2.0
// Block formats of GGUF files (ggml-common.h of ggml), one row at a time.
#include <cstring>

#include "base/check.h"
#include "kernels/cpu/half.h"
#include "kernels/elementwise.h"

namespace o3::kernels {
namespace {

using cpu::load_half;

constexpr int64_t kBlock = 32;

int32_t byte_at(const std::byte* at) {
  return std::to_integer<int32_t>(*at);
}

// 16 bytes: low halves are elements 0-15, high halves 16-31; `high` holds one more bit of each.
void nibbles(const std::byte* quants, uint32_t high, float d, float m, float* dst) {
  for (uint32_t i = 0; i < 16; ++i) {
    const int32_t byte = byte_at(quants + i);
    const int32_t low_bit = static_cast<int32_t>((high >> i) & 1U) << 4;
    const int32_t high_bit = static_cast<int32_t>((high >> (i + 16)) & 1U) << 4;
    dst[i] = static_cast<float>((byte & 0xf) | low_bit) * d + m;
    dst[i + 16] = static_cast<float>((byte >> 4) | high_bit) * d + m;
  }
}

void block_q4_0(const std::byte* src, float* dst) {
  const float d = load_half(src);
  nibbles(src + 2, 0, d, -8 * d, dst);
}
void block_q4_1(const std::byte* src, float* dst) {
  nibbles(src + 4, 0, load_half(src), load_half(src + 2), dst);
}
void block_q5_0(const std::byte* src, float* dst) {
  uint32_t high = 0;
  std::memcpy(&high, src + 2, sizeof high);
  const float d = load_half(src);
  nibbles(src + 6, high, d, -16 * d, dst);
}
void block_q5_1(const std::byte* src, float* dst) {
  uint32_t high = 0;
  std::memcpy(&high, src + 4, sizeof high);
  nibbles(src + 8, high, load_half(src), load_half(src + 2), dst);
}
void block_q8_0(const std::byte* src, float* dst) {
  const float d = load_half(src);
  for (int64_t i = 0; i < kBlock; ++i) {
    dst[i] = static_cast<float>(static_cast<int8_t>(byte_at(src + 2 + i))) * d;
  }
}

void blocks(DType dtype, void (*one)(const std::byte*, float*), const std::byte* src, float* dst,
            int64_t elements) {
  const int64_t bytes = device::traits(dtype).block_bytes;
  for (int64_t b = 0; b < elements / kBlock; ++b) one(src + b * bytes, dst + b * kBlock);
}

}  // namespace

bool can_dequantize(DType dtype) noexcept {
  switch (dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
    case DType::kQ4_0:
    case DType::kQ4_1:
    case DType::kQ5_0:
    case DType::kQ5_1:
    case DType::kQ8_0:
      return true;
    default:
      return false;
  }
}

void dequantize_row(DType dtype, const std::byte* src, float* dst, int64_t elements) noexcept {
  switch (dtype) {
    case DType::kF32:
      std::memcpy(dst, src, static_cast<size_t>(elements) * sizeof(float));
      return;
    case DType::kF16:
      for (int64_t i = 0; i < elements; ++i) dst[i] = load_half(src + 2 * i);
      return;
    case DType::kBF16:
      for (int64_t i = 0; i < elements; ++i) {
        uint16_t bits = 0;
        std::memcpy(&bits, src + 2 * i, sizeof bits);
        dst[i] = cpu::bfloat_to_float(bits);
      }
      return;
    case DType::kQ4_0:
      return blocks(dtype, block_q4_0, src, dst, elements);
    case DType::kQ4_1:
      return blocks(dtype, block_q4_1, src, dst, elements);
    case DType::kQ5_0:
      return blocks(dtype, block_q5_0, src, dst, elements);
    case DType::kQ5_1:
      return blocks(dtype, block_q5_1, src, dst, elements);
    case DType::kQ8_0:
      return blocks(dtype, block_q8_0, src, dst, elements);
    default:
      check_failed(__FILE__, __LINE__, "can_dequantize(dtype)", "no dequantiser for this dtype");
  }
}

}  // namespace o3::kernels
