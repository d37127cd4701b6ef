// SPDX-License-Identifier: Apache-2.0
// 16-bit numbers: conversions and the tensor core's product of them; E4M3 as a way to store them.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <type_traits>

#include "device/dtype.h"

namespace o3::kernels::cuda {

__device__ inline float to_float(float x) {
  return x;
}
__device__ inline float to_float(__half x) {
  return __half2float(x);
}
__device__ inline float to_float(__nv_bfloat16 x) {
  return __bfloat162float(x);
}

__device__ inline float to_float(__nv_fp8_e4m3 x) {
  return static_cast<float>(x);
}

template <class T>
__device__ T from_float(float x);
template <>
__device__ inline float from_float<float>(float x) {
  return x;
}
// Saturates: an activation beyond F16's range becomes its largest value, not infinity.
template <>
__device__ inline __half from_float<__half>(float x) {
  return __float2half_rn(fminf(fmaxf(x, -65504.0F), 65504.0F));
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

// Two values in one register, the first in the low half.
template <class T>
__device__ uint32_t pack(float low, float high);
template <>
__device__ inline uint32_t pack<__half>(float low, float high) {
  const __half2 both = __halves2half2(from_float<__half>(low), from_float<__half>(high));
  return *reinterpret_cast<const uint32_t*>(&both);
}
template <>
__device__ inline uint32_t pack<__nv_bfloat16>(float low, float high) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&both);
}

using E4m3 = __nv_fp8_e4m3;
inline constexpr float kLargestE4m3 = 448.0F;

// What is multiplied when S is stored.
template <class S>
using Multiplied = std::conditional_t<sizeof(S) == 1, __half, S>;

// Saturates.
template <>
__device__ inline E4m3 from_float<E4m3>(float x) {
  return E4m3(x);
}
// Four numbers, the first in the low byte.
__device__ inline uint32_t pack_e4m3(const float4& x) {
  const uint32_t low = __nv_cvt_float2_to_fp8x2(make_float2(x.x, x.y), __NV_SATFINITE, __NV_E4M3);
  const uint32_t high = __nv_cvt_float2_to_fp8x2(make_float2(x.z, x.w), __NV_SATFINITE, __NV_E4M3);
  return low | high << 16U;
}
// Four E4M3, the first in the low byte, as four F16: exact.
__device__ inline void widen(uint32_t four, uint32_t& low, uint32_t& high) {
  asm("{\n.reg .b16 a, b;\nmov.b32 {a, b}, %2;\n"
      "cvt.rn.f16x2.e4m3x2 %0, a;\ncvt.rn.f16x2.e4m3x2 %1, b;\n}\n"
      : "=r"(low), "=r"(high)
      : "r"(four));
}

// c[16, 8] += a[16, 16] * b[16, 8], FP32 sums (mma.m16n8k16). Lane l = 4 g + t holds
// a: {a[g][2t..], a[g+8][2t..], a[g][2t+8..], a[g+8][2t+8..]}, b: {b[2t..][g], b[2t+8..][g]},
// c: {c[g][2t], c[g][2t+1], c[g+8][2t], c[g+8][2t+1]}.
template <class T>
__device__ void multiply(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1);
template <>
__device__ inline void multiply<__half>(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                        uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <>
__device__ inline void multiply<__nv_bfloat16>(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                               uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
      "{%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Calls body(T{}) with T the type of a 16-bit dtype (F16, BF16).
template <class Body>
void with_half_type(device::DType dtype, const Body& body) {
  if (dtype == device::DType::kF16) {
    body(__half{});
  } else {
    body(__nv_bfloat16{});
  }
}

// The same with E4M3 besides.
template <class Body>
void with_product_type(device::DType dtype, const Body& body) {
  if (dtype == device::DType::kF8_E4M3) {
    body(E4m3{});
  } else {
    with_half_type(dtype, body);
  }
}

}  // namespace o3::kernels::cuda
