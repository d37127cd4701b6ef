// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/linear_f32_body.h"
#include "kernels/cpu/linear_tile.h"
#include "kernels/cpu/math_avx512.h"

namespace o3::kernels::cpu::avx512 {

LinearTileFn f32_kernel(WeightFormat format) {
  return F32Kernels<Vec>::of(format);
}

}  // namespace o3::kernels::cpu::avx512
