// SPDX-License-Identifier: Apache-2.0
// Which CPU kernel multiplies by which weights.
#pragma once

#include <string>

#include "device/cpu/isa.h"
#include "kernels/cpu/linear_tile.h"
#include "kernels/cpu/pack.h"
#include "kernels/exec.h"

namespace o3::kernels::cpu {

// Up to this many rows a product is bound by reading the weights.
inline constexpr int64_t kStreamRows = 8;

struct LinearKernel {
  std::string name;  // "q4_1.amx"
  int32_t lanes;
  SignedBytes bytes;
  LinearTileFn few;   // integer kernel for up to kStreamRows rows; null: kFast runs `f32` as well
  LinearTileFn many;  // bit-equal to `few`
  LinearTileFn f32;
  QuantizeRowFn quantize;  // for the integer kernels
};

// The kernel of the first row of the table that fits, or kUnsupported naming dtype and shape.
Result<LinearKernel> select_linear(DType dtype, int64_t in, int64_t out, device::cpu::Isa isa);

}  // namespace o3::kernels::cpu
