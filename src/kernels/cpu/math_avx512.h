// SPDX-License-Identifier: Apache-2.0
// Only for files compiled with AVX-512 flags; hence the anonymous namespace in a header.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/cpu/isa_code.h"

namespace o3::kernels::cpu::avx512 {
namespace {  // NOLINT: each ISA file must get its own copy

O3_INLINE __mmask16 first_lanes(int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xffffU : (1U << static_cast<unsigned>(count)) - 1U);
}

// The vector type that the *_body.h files are written against.
struct Vec {
  using Reg = __m512;
  static constexpr int kLanes = 16;
  static constexpr int kF32Rows = 12;  // rows of linear_f32_body.h whose sums fit the registers

  O3_INLINE static Reg zero() { return _mm512_setzero_ps(); }
  O3_INLINE static Reg set1(float x) { return _mm512_set1_ps(x); }
  O3_INLINE static Reg load(const float* at) { return _mm512_loadu_ps(at); }
  O3_INLINE static Reg load_half(const uint16_t* at) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
  }
  O3_INLINE static Reg load_bfloat(const uint16_t* at) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
  O3_INLINE static void store(float* at, Reg x) { _mm512_storeu_ps(at, x); }
  // The first `count` (<= kLanes) lanes; nothing beyond them is touched. Other lanes: `other`.
  O3_INLINE static Reg load_first(const float* at, int64_t count, float other) {
    return _mm512_mask_loadu_ps(set1(other), first_lanes(count), at);
  }
  O3_INLINE static void store_first(float* at, int64_t count, Reg x) {
    _mm512_mask_storeu_ps(at, first_lanes(count), x);
  }
  O3_INLINE static void store_half_first(uint16_t* at, int64_t count, Reg x) {
    const __m256i half = _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm256_mask_storeu_epi16(at, first_lanes(count), half);
  }
  // Lanes [low, high) of 16 readable floats, minus infinity in the others; bounds may lie outside.
  O3_INLINE static Reg load_between(const float* at, int32_t low, int32_t high) {
    const int32_t below = low < 0 ? 0 : low;
    const int32_t upto = high < 0 ? 0 : high;
    const auto mask = static_cast<__mmask16>(first_lanes(upto) & ~first_lanes(below));
    return _mm512_mask_loadu_ps(set1(-__builtin_inff()), mask, at);
  }

  // Packed weights: 4 bytes per lane.
  using Words = __m512i;
  O3_INLINE static Words load_words(const uint8_t* at) { return _mm512_loadu_si512(at); }
  O3_INLINE static Words load_biased_words(const uint8_t* at) { return load_words(at); }
  O3_INLINE static Words low_nibbles(Words x) {
    return _mm512_and_si512(x, _mm512_set1_epi8(0x0f));
  }
  O3_INLINE static Words high_nibbles(Words x) { return low_nibbles(_mm512_srli_epi16(x, 4)); }
  O3_INLINE static Words no_words() { return _mm512_setzero_si512(); }
  // Bits of each 16-bit half of a lane, to the left or, for negative kBits, to the right.
  template <int kBits>
  O3_INLINE static Words shift(Words x) {
    if constexpr (kBits > 0) return _mm512_slli_epi16(x, kBits);
    if constexpr (kBits < 0) return _mm512_srli_epi16(x, -kBits);
    return x;
  }
  // a | (b & mask), the mask for each byte
  O3_INLINE static Words add_masked(Words a, Words b, int mask) {
    return _mm512_ternarylogic_epi32(a, b, _mm512_set1_epi8(static_cast<char>(mask)), 0xf8);
  }
  // 16 bytes that look_up() finds by the bytes of its index, each below 16.
  O3_INLINE static Words load_table(const uint8_t* at) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  }
  O3_INLINE static Words look_up(Words table, Words index) {
    return _mm512_shuffle_epi8(table, index);
  }
  // kLanes bytes as int32.
  O3_INLINE static Words load_unsigned(const uint8_t* at) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  }
  O3_INLINE static Words load_signed(const uint8_t* at) {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  }
  // Lanes of two int16, each given as int32.
  O3_INLINE static Words pair(Words low, Words high) {
    return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
  }
  O3_INLINE static Reg to_float(Words x) { return _mm512_cvtepi32_ps(x); }
  // Byte t of each lane, less kBias.
  template <int kBias>
  O3_INLINE static Reg byte_to_float(Words x, int t) {
    const Words shifted = _mm512_srli_epi32(x, static_cast<unsigned>(8 * t));
    const Words byte = _mm512_and_si512(shifted, _mm512_set1_epi32(0xff));
    if (kBias == 0) return _mm512_cvtepi32_ps(byte);
    return _mm512_cvtepi32_ps(_mm512_sub_epi32(byte, _mm512_set1_epi32(kBias)));
  }

  O3_INLINE static Reg add(Reg a, Reg b) { return _mm512_add_ps(a, b); }
  O3_INLINE static Reg sub(Reg a, Reg b) { return _mm512_sub_ps(a, b); }
  O3_INLINE static Reg mul(Reg a, Reg b) { return _mm512_mul_ps(a, b); }
  O3_INLINE static Reg div(Reg a, Reg b) { return _mm512_div_ps(a, b); }
  O3_INLINE static Reg max(Reg a, Reg b) { return _mm512_max_ps(a, b); }  // b when one is NaN
  O3_INLINE static Reg min(Reg a, Reg b) { return _mm512_min_ps(a, b); }
  O3_INLINE static Reg fmadd(Reg a, Reg b, Reg c) { return _mm512_fmadd_ps(a, b, c); }
  O3_INLINE static Reg fmsub(Reg a, Reg b, Reg c) { return _mm512_fmsub_ps(a, b, c); }
  O3_INLINE static float reduce_max(Reg x) { return _mm512_reduce_max_ps(x); }
  O3_INLINE static float reduce_add(Reg x) { return _mm512_reduce_add_ps(x); }

  // Sums of squares in double.
  using Squares = __m512d;
  O3_INLINE static Squares no_squares() { return _mm512_setzero_pd(); }
  O3_INLINE static Squares add_squares(Reg x, Squares sum) {
    const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(x));
    const __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1));
    return _mm512_fmadd_pd(high, high, _mm512_fmadd_pd(low, low, sum));
  }
  O3_INLINE static double reduce_squares(Squares sum) { return _mm512_reduce_add_pd(sum); }

  // e^x within 1 ulp; exactly 1 at 0; 0 below -87 (where results become subnormal), infinity above
  // 88.8. With x = n ln 2 + r, |r| <= ln 2 / 2: e^x = 2^n (1 + r + r^2 p(r)); p has the smallest
  // largest relative error in FP32. ln 2 is split so that n * high is exact.
  O3_INLINE static Reg exp(Reg x) {
    const __mmask16 normal = _mm512_cmp_ps_mask(x, set1(-87.0F), _CMP_NLT_UQ);
    const Reg bounded = min(set1(100.0F), x);
    const Reg n = _mm512_roundscale_ps(mul(bounded, set1(1.44269504F)),
                                       _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    Reg r = _mm512_fnmadd_ps(n, set1(0.693359375F), bounded);
    r = _mm512_fnmadd_ps(n, set1(-2.12194440e-4F), r);
    Reg p = set1(0.00138145383F);
    p = fmadd(p, r, set1(0.00836874545F));
    p = fmadd(p, r, set1(0.041668389F));
    p = fmadd(p, r, set1(0.166665211F));
    p = fmadd(p, r, set1(0.49999994F));
    p = fmadd(p, r, set1(1.0F));
    p = fmadd(p, r, set1(1.0F));
    return _mm512_maskz_scalef_ps(normal, p, n);
  }
};

}  // namespace
}  // namespace o3::kernels::cpu::avx512
