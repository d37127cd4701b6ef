// SPDX-License-Identifier: Apache-2.0
// Which CPU kernel multiplies by which weights.
#pragma once

#include "device/cpu/isa.h"
#include "kernels/cpu/linear_tile.h"
#include "kernels/cpu/pack.h"
#include "kernels/exec.h"

namespace o3::kernels::cpu {

struct LinearKernel {
  const char* name;
  device::cpu::Isa first_isa;  // serves backends whose ISA is in [first_isa, last_isa]
  device::cpu::Isa last_isa;
  DType dtype;
  int32_t lanes;
  SignedBytes bytes;
  LinearTileFn fast;  // integer kernel; null: kFast runs `f32` as well
  LinearTileFn f32;
  QuantizeRowFn quantize;  // for `fast`
  bool (*feasible)(int64_t in, int64_t out);
};

// The first row that fits, or kUnsupported naming dtype and shape.
Result<const LinearKernel*> select_linear(DType dtype, int64_t in, int64_t out,
                                          device::cpu::Isa isa);

}  // namespace o3::kernels::cpu
