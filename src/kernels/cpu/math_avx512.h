// SPDX-License-Identifier: Apache-2.0
// Only for files compiled with AVX-512 flags; hence the anonymous namespace in a header.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/isa_code.h"

namespace o3::kernels::cpu::avx512 {
namespace {  // NOLINT: each ISA file must get its own copy

// e^x within 1 ulp; exactly 1 at 0; 0 below -87 (where results become subnormal), infinity above
// 88.8. With x = n ln 2 + r, |r| <= ln 2 / 2: e^x = 2^n (1 + r + r^2 p(r)); p has the smallest
// largest relative error in FP32. ln 2 is split so that n * high is exact.
O3_INLINE __m512 exp_ps(__m512 x) {
  const __mmask16 normal = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-87.0F), _CMP_NLT_UQ);
  const __m512 bounded = _mm512_min_ps(_mm512_set1_ps(100.0F), x);
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(bounded, _mm512_set1_ps(1.44269504F)),
                                        _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375F), bounded);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4F), r);
  __m512 p = _mm512_set1_ps(0.00138145383F);
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.00836874545F));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.041668389F));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.166665211F));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.49999994F));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0F));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0F));
  return _mm512_maskz_scalef_ps(normal, p, n);
}

O3_INLINE __mmask16 first_lanes(int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xffffU : (1U << static_cast<unsigned>(count)) - 1U);
}

}  // namespace
}  // namespace o3::kernels::cpu::avx512
