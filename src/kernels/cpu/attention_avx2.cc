// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/attention_body.h"
#include "kernels/cpu/attention_tile.h"
#include "kernels/cpu/math_avx2.h"

namespace o3::kernels::cpu::avx2 {
namespace {

O3_INLINE __m256 load_token(const Tokens& tokens, int32_t token, int32_t dim) {
  if (token < tokens.low || token >= tokens.high) return _mm256_setzero_ps();
  const uint8_t* row = tokens.first_row + token * tokens.row_bytes;
  return Vec::load_half(reinterpret_cast<const uint16_t*>(row) + dim);
}

struct Kernel : Vec {
  static constexpr int kVectors = 3;  // 3 x 4 sums, a value, 3 factors
  static constexpr int kValueRegs = 4;
  static constexpr int32_t kTurnDims = 8;

  // An 8 x 8 transposition: pairs of tokens, quads of tokens, halves of registers.
  static void turn_halves(const Tokens& tokens, int32_t dim, int32_t /*dims: 8*/, float* out) {
    __m256 quad[2][4];  // [tokens 4q..][c], lane l: dimension 4l + c
    O3_UNROLL
    for (int q = 0; q < 2; ++q) {
      const __m256 a = load_token(tokens, 4 * q, dim);
      const __m256 b = load_token(tokens, 4 * q + 1, dim);
      const __m256 c = load_token(tokens, 4 * q + 2, dim);
      const __m256 d = load_token(tokens, 4 * q + 3, dim);
      const __m256 ab_low = _mm256_unpacklo_ps(a, b);
      const __m256 ab_high = _mm256_unpackhi_ps(a, b);
      const __m256 cd_low = _mm256_unpacklo_ps(c, d);
      const __m256 cd_high = _mm256_unpackhi_ps(c, d);
      quad[q][0] = _mm256_shuffle_ps(ab_low, cd_low, 0x44);
      quad[q][1] = _mm256_shuffle_ps(ab_low, cd_low, 0xee);
      quad[q][2] = _mm256_shuffle_ps(ab_high, cd_high, 0x44);
      quad[q][3] = _mm256_shuffle_ps(ab_high, cd_high, 0xee);
    }
    O3_UNROLL
    for (int c = 0; c < 4; ++c) {
      const __m256 low = _mm256_permute2f128_ps(quad[0][c], quad[1][c], 0x20);
      const __m256 high = _mm256_permute2f128_ps(quad[0][c], quad[1][c], 0x31);
      store(out + c * kKeyTokens, low);
      store(out + (4 + c) * kKeyTokens, high);
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

}  // namespace o3::kernels::cpu::avx2
