// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/linear_f32_body.h"
#include "kernels/cpu/linear_tile.h"
#include "kernels/cpu/math_avx512.h"

namespace o3::kernels::cpu::avx512 {

void linear_f32(const LinearTile& tile) {
  linear_f32_body<Vec, PlainF32<Vec>>(tile);
}
void linear_f16(const LinearTile& tile) {
  linear_f32_body<Vec, PlainF16<Vec>>(tile);
}
void linear_bf16(const LinearTile& tile) {
  linear_f32_body<Vec, PlainBF16<Vec>>(tile);
}
void linear_q4_0_f32(const LinearTile& tile) {
  linear_f32_body<Vec, Nibbles<Vec, 8, false>>(tile);
}
void linear_q4_1_f32(const LinearTile& tile) {
  linear_f32_body<Vec, Nibbles<Vec, 0, true>>(tile);
}
void linear_q8_0_f32(const LinearTile& tile) {
  linear_f32_body<Vec, Bytes<Vec>>(tile);
}

}  // namespace o3::kernels::cpu::avx512
