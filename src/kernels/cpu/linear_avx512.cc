// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "kernels/cpu/linear_tile.h"
#include "kernels/cpu/linear_vnni_body.h"

namespace o3::kernels::cpu::avx512 {

namespace {

template <class Format>
struct VnniKernel {
  static void run(const LinearTile& tile) {
    tile.rows <= 8 ? run_stream<Format>(tile) : run_panels<Format, VnniPanels>(tile);
  }
};

}  // namespace

LinearTileFn int8_kernel(WeightFormat format) {
  return quant_kernel<Vec, VnniKernel>(format);
}

void quantize_row(const float* x, int64_t in, const QuantRows& panel, int64_t row) {
  const int64_t height = panel.height;
  for (int64_t b = 0; b < in / kBlock; ++b) {
    uint8_t* record = panel.data + b * height * kQuantBytes;
    const __m512 v0 = _mm512_loadu_ps(x + b * kBlock);
    const __m512 v1 = _mm512_loadu_ps(x + b * kBlock + 16);
    const float least = _mm512_reduce_min_ps(_mm512_min_ps(v0, v1));
    const float most = _mm512_reduce_max_ps(_mm512_max_ps(v0, v1));
    const float center = 0.5F * most + 0.5F * least;
    const float span = 0.5F * most - 0.5F * least;
    const bool constant = span < kTinySpan;
    const float scale = constant ? 0.0F : span / 127.0F;
    const __m512 inverse = _mm512_set1_ps(constant ? 0.0F : 127.0F / span);
    const __m512 middle = _mm512_set1_ps(center);
    const __m512i q0 = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_sub_ps(v0, middle), inverse));
    const __m512i q1 = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_sub_ps(v1, middle), inverse));
    const int32_t first = _mm512_reduce_add_epi32(q0);
    const int32_t second = _mm512_reduce_add_epi32(q1);
    auto* q = reinterpret_cast<__m128i*>(record + row * kBlock);
    _mm_storeu_si128(q, _mm512_cvtsepi32_epi8(q0));
    _mm_storeu_si128(q + 1, _mm512_cvtsepi32_epi8(q1));
    auto* of_row = reinterpret_cast<float*>(record + height * kScaleAt) + row;
    of_row[0] = scale;
    of_row[height] = center;
    of_row[2 * height] =
        scale * static_cast<float>(first + second) + static_cast<float>(kBlock) * center;
    auto* isums = reinterpret_cast<int16_t*>(of_row + 3 * height);
    isums[0] = static_cast<int16_t>(first);
    isums[1] = static_cast<int16_t>(second);
  }
}

}  // namespace o3::kernels::cpu::avx512
