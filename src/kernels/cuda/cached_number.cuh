// SPDX-License-Identifier: Apache-2.0
// Numbers of the cache as operands of the tensor core: 16-bit ones as they are, E4M3 ones widened
// to F16 on their way from shared memory. A layout L gives at(row, piece), where 16 bytes of a row
// lie.
#pragma once

#include "kernels/cuda/number.cuh"
#include "kernels/cuda/pipeline.cuh"

namespace o3::kernels::cuda {

// An 8 x 8 matrix of 16-bit numbers, its row g in lanes 4 g to 4 g + 3, turned over.
__device__ inline uint32_t transposed(uint32_t two) {
  uint32_t turned = 0;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(turned) : "r"(two));
  return turned;
}

// multiply()'s b for 16 of a query's numbers, with the columns in load_keys()'s order.
template <class S>
__device__ void load_query(uint32_t (&b)[2], const Multiplied<S>* q, bool there) {
  const int t = static_cast<int>(threadIdx.x) % 4;
  if constexpr (sizeof(S) == 1) {
    const auto* from = reinterpret_cast<const uint2*>(q + 4 * t);
    const uint2 both = there ? __ldcg(from) : make_uint2(0, 0);
    b[0] = both.x;
    b[1] = both.y;
  } else {
    b[0] = there ? __ldcg(reinterpret_cast<const uint32_t*>(q + 2 * t)) : 0U;
    b[1] = there ? __ldcg(reinterpret_cast<const uint32_t*>(q + 2 * t + 8)) : 0U;
  }
}

// multiply()'s a for 16 slots and columns 16 s to 16 s + 31, s even. A lane of E4M3 holds four
// neighbours where the tensor core has two pairs eight apart; load_query() follows.
template <class S, class L>
__device__ void load_keys(const char* keys, int s, uint32_t (&a)[2][4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row = lane % 16;
  if constexpr (sizeof(S) == 1) {
    uint32_t m[4];
    load_matrices(m, keys + L::at(row, s + lane / 16));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      widen(m[i], a[i / 2][i % 2], a[i / 2][i % 2 + 2]);
    }
  } else {
    load_matrices(a[0], keys + L::at(row, 2 * s + lane / 16));
    load_matrices(a[1], keys + L::at(row, 2 * s + 2 + lane / 16));
  }
}

// multiply()'s a for dimensions 16 s to 16 s + 31, s even, and 16 slots. dimension_of(): which
// of 16 dimensions row g (or g + 8: second) of a is.
template <class S, class L>
__device__ void load_values(const char* values, int s, uint32_t (&a)[2][4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if constexpr (sizeof(S) == 1) {
    uint32_t m[4];
    load_matrices_transposed(m, values + L::at(lane % 16, s + lane / 16));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      // Bytes: {slot 2t, slot 2t + 1} of dimensions 2g and 2g + 1.
      const uint32_t sorted = __byte_perm(m[i], 0, 0x3120);
      widen(sorted, a[i / 2][i % 2 * 2], a[i / 2][i % 2 * 2 + 1]);
    }
  } else {
    const int row = lane / 16 * 8 + lane % 8;
    const int piece = 2 * s + lane / 8 % 2;
    load_matrices_transposed(a[0], values + L::at(row, piece));
    load_matrices_transposed(a[1], values + L::at(row, piece + 2));
  }
}
template <class S>
__device__ int dimension_of(int g, bool second) {
  return sizeof(S) == 1 ? 2 * g + (second ? 1 : 0) : g + (second ? 8 : 0);
}

}  // namespace o3::kernels::cuda
