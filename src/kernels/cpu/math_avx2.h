// SPDX-License-Identifier: Apache-2.0
// Only for files compiled with AVX2 flags; hence the anonymous namespace in a header.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/cpu/isa_code.h"

namespace o3::kernels::cpu::avx2 {
namespace {  // NOLINT: each ISA file must get its own copy

// All ones in the first `count` lanes.
O3_INLINE __m256i first_lanes(int64_t count) {
  const __m256i lane = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int32_t>(count)), lane);
}

// The vector type that the *_body.h files are written against; math_avx512.h has the comments.
struct Vec {
  using Reg = __m256;
  static constexpr int kLanes = 8;
  static constexpr int kF32Rows = 8;

  O3_INLINE static Reg zero() { return _mm256_setzero_ps(); }
  O3_INLINE static Reg set1(float x) { return _mm256_set1_ps(x); }
  O3_INLINE static Reg load(const float* at) { return _mm256_loadu_ps(at); }
  O3_INLINE static Reg load_half(const uint16_t* at) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  }
  O3_INLINE static Reg load_bfloat(const uint16_t* at) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
  O3_INLINE static void store(float* at, Reg x) { _mm256_storeu_ps(at, x); }
  O3_INLINE static Reg load_first(const float* at, int64_t count, float other) {
    const __m256i mask = first_lanes(count);
    return _mm256_blendv_ps(set1(other), _mm256_maskload_ps(at, mask), _mm256_castsi256_ps(mask));
  }
  O3_INLINE static void store_first(float* at, int64_t count, Reg x) {
    _mm256_maskstore_ps(at, first_lanes(count), x);
  }
  O3_INLINE static void store_half_first(uint16_t* at, int64_t count, Reg x) {
    const __m128i half = _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    if (count >= kLanes) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(at), half);
      return;
    }
    uint16_t lanes[kLanes];
    _mm_storeu_si128(reinterpret_cast<__m128i*>(lanes), half);
    for (int64_t i = 0; i < count; ++i) at[i] = lanes[i];
  }
  O3_INLINE static Reg load_between(const float* at, int32_t low, int32_t high) {
    const __m256i mask = _mm256_andnot_si256(first_lanes(low), first_lanes(high));
    return _mm256_blendv_ps(set1(-__builtin_inff()), load(at), _mm256_castsi256_ps(mask));
  }

  using Words = __m256i;
  O3_INLINE static Words load_words(const uint8_t* at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  }
  // 8-bit weights are packed as they are here; the FP32 kernels want them with a bias of 128.
  O3_INLINE static Words load_biased_words(const uint8_t* at) {
    return _mm256_xor_si256(load_words(at), _mm256_set1_epi8(-128));
  }
  O3_INLINE static Words low_nibbles(Words x) {
    return _mm256_and_si256(x, _mm256_set1_epi8(0x0f));
  }
  O3_INLINE static Words high_nibbles(Words x) { return low_nibbles(_mm256_srli_epi16(x, 4)); }
  O3_INLINE static Words no_words() { return _mm256_setzero_si256(); }
  template <int kBits>
  O3_INLINE static Words shift(Words x) {
    if constexpr (kBits > 0) return _mm256_slli_epi16(x, kBits);
    if constexpr (kBits < 0) return _mm256_srli_epi16(x, -kBits);
    return x;
  }
  O3_INLINE static Words add_masked(Words a, Words b, int mask) {
    return _mm256_or_si256(a, _mm256_and_si256(b, _mm256_set1_epi8(static_cast<char>(mask))));
  }
  O3_INLINE static Words load_table(const uint8_t* at) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  }
  O3_INLINE static Words look_up(Words table, Words index) {
    return _mm256_shuffle_epi8(table, index);
  }
  O3_INLINE static Words load_unsigned(const uint8_t* at) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at)));
  }
  O3_INLINE static Words load_signed(const uint8_t* at) {
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at)));
  }
  // Lanes of two int16, each given as int32.
  O3_INLINE static Words pair(Words low, Words high) {
    return _mm256_or_si256(low, _mm256_slli_epi32(high, 16));
  }
  O3_INLINE static Reg to_float(Words x) { return _mm256_cvtepi32_ps(x); }
  template <int kBias>
  O3_INLINE static Reg byte_to_float(Words x, int t) {
    const Words byte = _mm256_and_si256(_mm256_srli_epi32(x, 8 * t), _mm256_set1_epi32(0xff));
    if (kBias == 0) return _mm256_cvtepi32_ps(byte);
    return _mm256_cvtepi32_ps(_mm256_sub_epi32(byte, _mm256_set1_epi32(kBias)));
  }

  O3_INLINE static Reg add(Reg a, Reg b) { return _mm256_add_ps(a, b); }
  O3_INLINE static Reg sub(Reg a, Reg b) { return _mm256_sub_ps(a, b); }
  O3_INLINE static Reg mul(Reg a, Reg b) { return _mm256_mul_ps(a, b); }
  O3_INLINE static Reg div(Reg a, Reg b) { return _mm256_div_ps(a, b); }
  O3_INLINE static Reg max(Reg a, Reg b) { return _mm256_max_ps(a, b); }
  O3_INLINE static Reg min(Reg a, Reg b) { return _mm256_min_ps(a, b); }
  O3_INLINE static Reg fmadd(Reg a, Reg b, Reg c) { return _mm256_fmadd_ps(a, b, c); }
  O3_INLINE static Reg fmsub(Reg a, Reg b, Reg c) { return _mm256_fmsub_ps(a, b, c); }
  O3_INLINE static float reduce_max(Reg x) {
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
  }
  O3_INLINE static float reduce_add(Reg x) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
  }

  using Squares = __m256d;
  O3_INLINE static Squares no_squares() { return _mm256_setzero_pd(); }
  O3_INLINE static Squares add_squares(Reg x, Squares sum) {
    const __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(x));
    const __m256d high = _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
    return _mm256_fmadd_pd(high, high, _mm256_fmadd_pd(low, low, sum));
  }
  O3_INLINE static double reduce_squares(Squares sum) {
    const __m128d s = _mm_add_pd(_mm256_castpd256_pd128(sum), _mm256_extractf128_pd(sum, 1));
    return _mm_cvtsd_f64(_mm_add_sd(s, _mm_unpackhi_pd(s, s)));
  }

  // As in math_avx512.h, but the largest result is e^88.3 (there is no scalef).
  O3_INLINE static Reg exp(Reg x) {
    const Reg normal = _mm256_cmp_ps(x, set1(-87.0F), _CMP_NLT_UQ);
    const Reg bounded = max(set1(-87.0F), min(set1(88.3F), x));
    const Reg n = _mm256_round_ps(mul(bounded, set1(1.44269504F)),
                                  _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    Reg r = _mm256_fnmadd_ps(n, set1(0.693359375F), bounded);
    r = _mm256_fnmadd_ps(n, set1(-2.12194440e-4F), r);
    Reg p = set1(0.00138145383F);
    p = fmadd(p, r, set1(0.00836874545F));
    p = fmadd(p, r, set1(0.041668389F));
    p = fmadd(p, r, set1(0.166665211F));
    p = fmadd(p, r, set1(0.49999994F));
    p = fmadd(p, r, set1(1.0F));
    p = fmadd(p, r, set1(1.0F));
    const __m256i exponent = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
    const Reg scaled = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), exponent));
    return _mm256_and_ps(normal, scaled);
  }
};

}  // namespace
}  // namespace o3::kernels::cpu::avx2
