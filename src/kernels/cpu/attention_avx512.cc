// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/attention_body.h"
#include "kernels/cpu/attention_tile.h"
#include "kernels/cpu/math_avx512.h"

namespace o3::kernels::cpu::avx512 {
namespace {

O3_INLINE __m512i load_dims(const Tokens& tokens, int32_t token, int32_t dim, __mmask32 mask) {
  if (token < tokens.low || token >= tokens.high) return _mm512_setzero_si512();
  return _mm512_maskz_loadu_epi16(mask, tokens.first_row + token * tokens.row_bytes + 2 * dim);
}

struct Kernel : Vec {
  static constexpr int kVectors = 6;  // 6 x 4 sums, 4 values, a factor
  static constexpr int kValueRegs = 4;
  static constexpr int32_t kTurnDims = 32;

  // Dimensions [dim, dim + dims), dims being 16 or 32, of 16 tokens of F16: out[d] = the tokens'
  // values of dimension dim + d as F32, rows kKeyTokens apart.
  static void turn_halves(const Tokens& tokens, int32_t dim, int32_t dims, float* out) {
    constexpr int64_t stride = kKeyTokens;
    const __mmask32 mask = dims >= 32 ? 0xffffffffU : 0xffffU;
    // Word pairs: dword i of lo/hi holds tokens (2p, 2p+1) of one dimension.
    __m512i lo[8];
    __m512i hi[8];
    O3_UNROLL
    for (int p = 0; p < 8; ++p) {
      const __m512i a = load_dims(tokens, 2 * p, dim, mask);
      const __m512i b = load_dims(tokens, 2 * p + 1, dim, mask);
      lo[p] = _mm512_unpacklo_epi16(a, b);  // lane l: dimensions 8l .. 8l+3
      hi[p] = _mm512_unpackhi_epi16(a, b);  // lane l: dimensions 8l+4 .. 8l+7
    }
    O3_UNROLL
    for (int part = 0; part < 2; ++part) {
      const __m512i* in = part == 0 ? lo : hi;
      // quad[q][c], lane l: dimension 8l + 4 part + c, tokens 8q .. 8q+7
      __m512i quad[2][4];
      O3_UNROLL
      for (int q = 0; q < 2; ++q) {
        const __m512i* four = in + 4 * q;
        const __m512i ab_lo = _mm512_unpacklo_epi32(four[0], four[1]);
        const __m512i ab_hi = _mm512_unpackhi_epi32(four[0], four[1]);
        const __m512i cd_lo = _mm512_unpacklo_epi32(four[2], four[3]);
        const __m512i cd_hi = _mm512_unpackhi_epi32(four[2], four[3]);
        quad[q][0] = _mm512_unpacklo_epi64(ab_lo, cd_lo);
        quad[q][1] = _mm512_unpackhi_epi64(ab_lo, cd_lo);
        quad[q][2] = _mm512_unpacklo_epi64(ab_hi, cd_hi);
        quad[q][3] = _mm512_unpackhi_epi64(ab_hi, cd_hi);
      }
      const __m512i even = _mm512_set_epi64(13, 12, 5, 4, 9, 8, 1, 0);
      const __m512i odd = _mm512_set_epi64(15, 14, 7, 6, 11, 10, 3, 2);
      O3_UNROLL
      for (int c = 0; c < 4; ++c) {
        // Lanes 0 and 2, then 1 and 3, of both token halves side by side.
        const __m512i l02 = _mm512_permutex2var_epi64(quad[0][c], even, quad[1][c]);
        const __m512i l13 = _mm512_permutex2var_epi64(quad[0][c], odd, quad[1][c]);
        float* to = out + (4 * part + c) * stride;
        _mm512_storeu_ps(to, _mm512_cvtph_ps(_mm512_castsi512_si256(l02)));
        _mm512_storeu_ps(to + 8 * stride, _mm512_cvtph_ps(_mm512_castsi512_si256(l13)));
        if (dims <= 16) continue;
        _mm512_storeu_ps(to + 16 * stride, _mm512_cvtph_ps(_mm512_extracti64x4_epi64(l02, 1)));
        _mm512_storeu_ps(to + 24 * stride, _mm512_cvtph_ps(_mm512_extracti64x4_epi64(l13, 1)));
      }
    }
  }
};

}  // namespace

void attend_split(const AttnTile& tile) {
  Attention<Kernel>::attend(tile);
}
void merge_split(const Partial& into, const Partial& more, int32_t vectors, int32_t head_dim) {
  Attention<Kernel>::merge(into, more, vectors, head_dim);
}

}  // namespace o3::kernels::cpu::avx512
