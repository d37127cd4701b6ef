// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "kernels/cpu/isa_code.h"
#include "kernels/cpu/math_avx512.h"
#include "kernels/cpu/row_ops.h"

namespace o3::kernels::cpu::avx512 {
namespace {

constexpr int64_t kLanes = 16;

// body(offset, mask) over n elements.
template <class Body>
O3_INLINE void for_lanes(int64_t n, const Body& body) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) body(i, static_cast<__mmask16>(0xffff));
  if (i < n) body(i, first_lanes(n - i));
}

// Squares are summed in double: 8 lanes from each half.
double sum_of_squares(const float* x, int64_t n) {
  __m512d low = _mm512_setzero_pd();
  __m512d high = _mm512_setzero_pd();
  for_lanes(n, [&](int64_t i, __mmask16 mask) {
    const __m512 v = _mm512_maskz_loadu_ps(mask, x + i);
    const __m512d a = _mm512_cvtps_pd(_mm512_castps512_ps256(v));
    const __m512d b = _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
    low = _mm512_fmadd_pd(a, a, low);
    high = _mm512_fmadd_pd(b, b, high);
  });
  return _mm512_reduce_add_pd(_mm512_add_pd(low, high));
}

}  // namespace

void rms_norm(const float* x, const float* weight, float eps, float* out, int64_t n) {
  const double mean = sum_of_squares(x, n) / static_cast<double>(n);
  const auto inverse = static_cast<float>(1.0 / __builtin_sqrt(mean + static_cast<double>(eps)));
  const __m512 scale = _mm512_set1_ps(inverse);
  for_lanes(n, [&](int64_t i, __mmask16 mask) {
    const __m512 v = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, x + i), scale);
    _mm512_mask_storeu_ps(out + i, mask, _mm512_mul_ps(v, _mm512_maskz_loadu_ps(mask, weight + i)));
  });
}

void swiglu(const float* gate, const float* up, float* out, int64_t n) {
  for_lanes(n, [&](int64_t i, __mmask16 mask) {
    const __m512 g = _mm512_maskz_loadu_ps(mask, gate + i);
    const __m512 e = exp_ps(_mm512_sub_ps(_mm512_setzero_ps(), g));
    const __m512 silu = _mm512_div_ps(g, _mm512_add_ps(_mm512_set1_ps(1.0F), e));
    _mm512_mask_storeu_ps(out + i, mask, _mm512_mul_ps(silu, _mm512_maskz_loadu_ps(mask, up + i)));
  });
}

void rope_interleaved(float* head, const float* cos, const float* sin, int64_t pairs) {
  const __m512i twice = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
  for (int64_t i = 0; i < pairs; i += 8) {  // 8 pairs per register
    const int64_t left = pairs - i;
    const __mmask16 mask = first_lanes(2 * left);
    const auto half = static_cast<__mmask8>(first_lanes(left));
    const __m512 v = _mm512_maskz_loadu_ps(mask, head + 2 * i);
    const __m512 c =
        _mm512_permutexvar_ps(twice, _mm512_castps256_ps512(_mm256_maskz_loadu_ps(half, cos + i)));
    const __m512 s =
        _mm512_permutexvar_ps(twice, _mm512_castps256_ps512(_mm256_maskz_loadu_ps(half, sin + i)));
    const __m512 swapped = _mm512_permute_ps(v, 0xb1);
    // even lanes: a cos - b sin; odd lanes: b cos + a sin
    _mm512_mask_storeu_ps(head + 2 * i, mask, _mm512_fmaddsub_ps(v, c, _mm512_mul_ps(swapped, s)));
  }
}

void rope_half(float* head, const float* cos, const float* sin, int64_t pairs) {
  for_lanes(pairs, [&](int64_t i, __mmask16 mask) {
    const __m512 a = _mm512_maskz_loadu_ps(mask, head + i);
    const __m512 b = _mm512_maskz_loadu_ps(mask, head + pairs + i);
    const __m512 c = _mm512_maskz_loadu_ps(mask, cos + i);
    const __m512 s = _mm512_maskz_loadu_ps(mask, sin + i);
    _mm512_mask_storeu_ps(head + i, mask, _mm512_fmsub_ps(a, c, _mm512_mul_ps(b, s)));
    _mm512_mask_storeu_ps(head + pairs + i, mask, _mm512_fmadd_ps(a, s, _mm512_mul_ps(b, c)));
  });
}

void to_half(const float* x, uint16_t* out, int64_t n) {
  const __m512 largest = _mm512_set1_ps(65504.0F);
  const __m512 lowest = _mm512_set1_ps(-65504.0F);
  for_lanes(n, [&](int64_t i, __mmask16 mask) {
    const __m512 v = _mm512_maskz_loadu_ps(mask, x + i);
    const __m512 bounded = _mm512_max_ps(lowest, _mm512_min_ps(largest, v));  // keeps NaN
    const __m256i half = _mm512_cvtps_ph(bounded, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm256_mask_storeu_epi16(out + i, mask, half);
  });
}

}  // namespace o3::kernels::cpu::avx512
