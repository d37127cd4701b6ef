// SPDX-License-Identifier: Apache-2.0
// Rows of any weight type as FP32. Each step rounds as in gguf-py's quants.py, so that values agree
// bit for bit.
#include <cstring>

#include "base/check.h"
#include "kernels/block_format.h"
#include "kernels/cpu/half.h"
#include "kernels/elementwise.h"

namespace o3::kernels {
namespace {

using cpu::half_to_float;

float minimum_of(const BlockFormat& format, const WeightBlock& block, size_t half) noexcept {
  const float m = half_to_float(block.m);
  return format.minimum == Minimum::kStored ? m : -(m * static_cast<float>(block.min_scale[half]));
}

void dequantize_blocks(const BlockFormat& format, const std::byte* src, float* dst,
                       int64_t elements) noexcept {
  constexpr int64_t kBlock = 32;
  for (int64_t b = 0; b < elements / kBlock; ++b, dst += kBlock) {
    const WeightBlock block = read_block(format, src, b);
    for (size_t half = 0; half < 2; ++half) {
      const float d = half_to_float(block.d) * static_cast<float>(block.scale[half]);
      const float m = minimum_of(format, block, half);
      for (size_t i = 16 * half; i < 16 * half + 16; ++i) {
        const float product = d * static_cast<float>(format.value(block.q[i]));
        dst[i] = format.minimum == Minimum::kNone ? product : product + m;
      }
    }
  }
}

}  // namespace

bool can_dequantize(DType dtype) noexcept {
  const bool plain = dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
  return plain || block_format(dtype) != nullptr;
}

void dequantize_row(DType dtype, const std::byte* src, float* dst, int64_t elements) noexcept {
  if (const BlockFormat* format = block_format(dtype)) {
    return dequantize_blocks(*format, src, dst, elements);
  }
  switch (dtype) {
    case DType::kF32:
      std::memcpy(dst, src, static_cast<size_t>(elements) * sizeof(float));
      return;
    case DType::kF16:
      for (int64_t i = 0; i < elements; ++i) dst[i] = cpu::load_half(src + 2 * i);
      return;
    case DType::kBF16:
      for (int64_t i = 0; i < elements; ++i) {
        uint16_t bits = 0;
        std::memcpy(&bits, src + 2 * i, sizeof bits);
        dst[i] = cpu::bfloat_to_float(bits);
      }
      return;
    default:
      check_failed(__FILE__, __LINE__, "can_dequantize(dtype)", "no dequantiser for this dtype");
  }
}

}  // namespace o3::kernels
