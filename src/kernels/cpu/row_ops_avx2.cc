// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/math_avx2.h"
#include "kernels/cpu/row_ops.h"
#include "kernels/cpu/row_ops_body.h"

namespace o3::kernels::cpu::avx2 {
namespace {

// 4 table entries, each twice.
O3_INLINE __m256 load_twice(const float* at, int64_t count) {
  const __m128 four = _mm256_castps256_ps128(Vec::load_first(at, count < 4 ? count : 4, 0.0F));
  const __m256i twice = _mm256_set_epi32(3, 3, 2, 2, 1, 1, 0, 0);
  return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(four), twice);
}

}  // namespace

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
  for (int64_t i = 0; i < pairs; i += 4) {  // 4 pairs per register
    const int64_t left = pairs - i;
    const __m256 v = Vec::load_first(head + 2 * i, 2 * left, 0.0F);
    const __m256 c = load_twice(cos + i, left);
    const __m256 s = load_twice(sin + i, left);
    // even lanes: a cos - b sin; odd lanes: b cos + a sin
    const __m256 swapped = _mm256_permute_ps(v, 0xb1);
    const __m256 turned = _mm256_fmaddsub_ps(v, c, _mm256_mul_ps(swapped, s));
    Vec::store_first(head + 2 * i, 2 * left, turned);
  }
}

}  // namespace o3::kernels::cpu::avx2
