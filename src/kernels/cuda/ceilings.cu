// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/ceilings.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/number.cuh"

namespace o3::kernels::cuda {
namespace {

constexpr int kThreads = 512;
constexpr int kInFlight = 8;

__device__ uint4 load_once(const uint4* from) {
  uint4 x;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
               : "l"(from));
  return x;
}

__global__ __launch_bounds__(kThreads) void read_kernel(const uint4* from, long long vectors,
                                                        uint32_t* sink) {
  launch_dependents();
  wait_for_previous();
  const long long stride = static_cast<long long>(gridDim.x) * kThreads;
  uint32_t seen = 0;
  long long i = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x;
  for (; i + (kInFlight - 1) * stride < vectors; i += kInFlight * stride) {
    uint4 x[kInFlight];
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) x[j] = load_once(from + i + j * stride);
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) seen ^= x[j].x ^ x[j].y ^ x[j].z ^ x[j].w;
  }
  for (; i < vectors; i += stride) seen ^= load_once(from + i).x;
  if (seen == 0x9e3779b9U) *sink = seen;
}

template <class T>
__global__ void fill_kernel(T* to, long long words, float deviation, uint32_t seed) {
  launch_dependents();
  wait_for_previous();
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < words;
       i += stride) {
    // Three rounds of a multiply-xorshift mix; the sum of four bytes is nearly normal.
    uint64_t x = static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15ULL + seed;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    x ^= x >> 31;
    float sum = -510.0F;
    for (int byte = 0; byte < 4; ++byte) sum += static_cast<float>((x >> (8 * byte)) & 255U);
    to[i] = from_float<T>(sum * deviation / 147.8F);
  }
}

}  // namespace

void read_all(const void* from, int64_t bytes, uint32_t* sink, const device::cuda::Stream& stream) {
  launch(read_kernel, {dim3(static_cast<unsigned>(stream.multiprocessors)), kThreads, 0}, stream,
         static_cast<const uint4*>(from), bytes / 16, sink);
}

void fill_random(device::cuda::Stream stream, void* to, int64_t words, bool bf16, float deviation,
                 uint32_t seed) {
  const Shape shape{dim3(2048), 256, 0};
  if (bf16) {
    launch(fill_kernel<__nv_bfloat16>, shape, stream, static_cast<__nv_bfloat16*>(to), words,
           deviation, seed);
  } else {
    launch(fill_kernel<__half>, shape, stream, static_cast<__half*>(to), words, deviation, seed);
  }
}

}  // namespace o3::kernels::cuda
