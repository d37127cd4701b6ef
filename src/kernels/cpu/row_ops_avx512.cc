// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/math_avx512.h"
#include "kernels/cpu/row_ops.h"
#include "kernels/cpu/row_ops_body.h"

namespace o3::kernels::cpu::avx512 {

void rms_norm(const float* x, const float* weight, float eps, float* out, int64_t n) {
  rms_norm_body<Vec>(x, weight, eps, out, n);
}
void swiglu(const float* gate, const float* up, float* out, int64_t n) {
  swiglu_body<Vec>(gate, up, out, n);
}
void geglu(const float* gate, const float* up, float* out, int64_t n) {
  geglu_body<Vec>(gate, up, out, n);
}
void softcap(float cap, float* x, int64_t n) {
  softcap_body<Vec>(cap, x, n);
}
void rope_half(float* head, const float* cos, const float* sin, int64_t pairs) {
  rope_half_body<Vec>(head, cos, sin, pairs);
}
void to_half(const float* x, uint16_t* out, int64_t n) {
  to_half_body<Vec>(x, out, n);
}

void rope_interleaved(float* head, const float* cos, const float* sin, int64_t pairs) {
  const __m512i twice = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
  for (int64_t i = 0; i < pairs; i += 8) {  // 8 pairs per register
    const int64_t left = pairs - i;
    const auto half = static_cast<__mmask8>(first_lanes(left));
    const __m512 v = Vec::load_first(head + 2 * i, 2 * left, 0.0F);
    const __m512 c =
        _mm512_permutexvar_ps(twice, _mm512_castps256_ps512(_mm256_maskz_loadu_ps(half, cos + i)));
    const __m512 s =
        _mm512_permutexvar_ps(twice, _mm512_castps256_ps512(_mm256_maskz_loadu_ps(half, sin + i)));
    // even lanes: a cos - b sin; odd lanes: b cos + a sin
    const __m512 swapped = _mm512_permute_ps(v, 0xb1);
    const __m512 turned = _mm512_fmaddsub_ps(v, c, _mm512_mul_ps(swapped, s));
    Vec::store_first(head + 2 * i, 2 * left, turned);
  }
}

}  // namespace o3::kernels::cpu::avx512
