// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <climits>

#include "base/check.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/number.cuh"
#include "kernels/cuda/rows.h"

namespace o3::kernels::cuda {
namespace {

constexpr int kThreads = 256;
// Small enough to find room beside the blocks of two products.
constexpr int kNormThreads = 512;
constexpr int kNormVectors = 8;  // of 4 floats per thread, at most: rows of up to 16384

__device__ long long thread_index() {
  return static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
}
unsigned blocks_for(long long items, int threads) {
  return static_cast<unsigned>((items + threads - 1) / threads);
}

__device__ float warp_sum(float x) {
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) x += __shfl_xor_sync(~0U, x, offset);
  return x;
}

__device__ float warp_most(float x) {
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    x = fmaxf(x, __shfl_xor_sync(~0U, x, offset));
  }
  return x;
}

// Over the block, the same in every thread: the sum, and the largest of numbers that are not
// negative. Every thread calls it.
template <class Reduce>
__device__ float over_block(float x, float* scratch, const Reduce& reduce) {
  x = reduce(x);
  if (threadIdx.x % kWarp == 0) scratch[threadIdx.x / kWarp] = x;
  __syncthreads();
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  x = static_cast<int>(threadIdx.x % kWarp) < warps ? scratch[threadIdx.x % kWarp] : 0.0F;
  x = reduce(x);
  __syncthreads();  // scratch may be used again
  return x;
}
__device__ float block_sum(float x, float* scratch) {
  return over_block(x, scratch, warp_sum);
}
__device__ float block_most(float x, float* scratch) {
  return over_block(x, scratch, warp_most);
}

// The scale of a row whose largest number is `most`.
__device__ float e4m3_scale(float most) {
  return most > 0.0F ? most / kLargestE4m3 : 1.0F;
}

// Eight 16-bit numbers, and eight E4M3.
template <class T>
__device__ void unpack_eight(const uint4& from, float (&to)[8]) {
  const uint32_t pairs[4] = {from.x, from.y, from.z, from.w};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    to[i] = to_float(reinterpret_cast<const T*>(pairs)[i]);
  }
}
__device__ void load_eight(const float* from, float (&to)[8]) {
  const float4 low = reinterpret_cast<const float4*>(from)[0];
  const float4 high = reinterpret_cast<const float4*>(from)[1];
  const float all[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
  for (int i = 0; i < 8; ++i) to[i] = all[i];
}
__device__ uint2 eight_e4m3(const float (&x)[8], float by) {
  return make_uint2(pack_e4m3(make_float4(x[0] * by, x[1] * by, x[2] * by, x[3] * by)),
                    pack_e4m3(make_float4(x[4] * by, x[5] * by, x[6] * by, x[7] * by)));
}

template <class T>
__global__ void embed_kernel(const EmbedArgs a) {
  launch_dependents();
  wait_for_previous();
  const int row = static_cast<int>(blockIdx.x);
  const int token = a.tokens[row];
  const T* from = static_cast<const T*>(a.table) + static_cast<long long>(token) * a.width;
  float* to = a.residual + static_cast<long long>(row) * a.width;
  for (int i = static_cast<int>(threadIdx.x); i < a.width; i += kThreads) {
    to[i] = token < 0 ? 0.0F : to_float(from[i]) * a.scale;
  }
}

__device__ float4 operator+(const float4& a, const float4& b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
__device__ float4 scaled(const float4& a, const float4& b, float by) {
  return make_float4(a.x * by * b.x, a.y * by * b.y, a.z * by * b.z, a.w * by * b.w);
}
__device__ float square_sum(const float4& a) {
  return a.x * a.x + a.y * a.y + a.z * a.z + a.w * a.w;
}

// kVectors: of 4 floats that a thread has of its row.
template <class T, int kVectors>
__global__ __launch_bounds__(kNormThreads) void add_norm_kernel(const AddNormArgs a) {
  __shared__ float scratch[kWarp];
  launch_dependents();
  const int vectors = a.width / 4;
  const long long row = blockIdx.x;
  float4 weight[kVectors];
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int at = i * kNormThreads + static_cast<int>(threadIdx.x);
    if (at < vectors) weight[i] = reinterpret_cast<const float4*>(a.weight)[at];
  }
  wait_for_previous();
  auto* residual = reinterpret_cast<float4*>(a.residual) + row * vectors;
  float4 x[kVectors];
  float4 added[kVectors];
  float squares = 0.0F;
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int at = i * kNormThreads + static_cast<int>(threadIdx.x);
    x[i] = added[i] = make_float4(0, 0, 0, 0);
    if (at >= vectors) continue;
    x[i] = residual[at];
#pragma unroll 8
    for (int split = 0; split < a.splits; ++split) {
      const long long plane = (static_cast<long long>(split) * a.rows + row) * vectors;
      added[i] = added[i] + reinterpret_cast<const float4*>(a.sums)[plane + at];
    }
    if (a.scales.rows != nullptr) {
      added[i] = scaled(added[i], reinterpret_cast<const float4*>(a.scales.columns)[at],
                        a.scales.rows[row]);
    }
    squares += square_sum(added[i]);
  }
  if (a.post_weight != nullptr) {
    const float norm = rsqrtf(block_sum(squares, scratch) / a.width + a.eps);
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      const int at = i * kNormThreads + static_cast<int>(threadIdx.x);
      if (at >= vectors) continue;
      added[i] = scaled(added[i], reinterpret_cast<const float4*>(a.post_weight)[at], norm);
    }
  }
  squares = 0.0F;
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int at = i * kNormThreads + static_cast<int>(threadIdx.x);
    if (at >= vectors) continue;
    x[i] = x[i] + added[i];
    if (a.splits > 0) residual[at] = x[i];
    squares += square_sum(x[i]);
  }
  const float norm = rsqrtf(block_sum(squares, scratch) / a.width + a.eps);
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int at = i * kNormThreads + static_cast<int>(threadIdx.x);
    if (at >= vectors) continue;
    x[i] = scaled(x[i], weight[i], norm);
    if constexpr (sizeof(T) == 2) {
      reinterpret_cast<uint2*>(a.out)[row * vectors + at] =
          make_uint2(pack<T>(x[i].x, x[i].y), pack<T>(x[i].z, x[i].w));
    }
  }
  if constexpr (sizeof(T) == 1) {
    float most = 0.0F;
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      most = fmaxf(most,
                   fmaxf(fmaxf(fabsf(x[i].x), fabsf(x[i].y)), fmaxf(fabsf(x[i].z), fabsf(x[i].w))));
    }
    const float scale = e4m3_scale(block_most(most, scratch));
    if (threadIdx.x == 0) a.out_scales[row] = scale;
    const float by = 1.0F / scale;
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      const int at = i * kNormThreads + static_cast<int>(threadIdx.x);
      if (at >= vectors) continue;
      reinterpret_cast<uint32_t*>(a.out)[row * vectors + at] =
          pack_e4m3(make_float4(x[i].x * by, x[i].y * by, x[i].z * by, x[i].w * by));
    }
  }
}

__device__ float gated(bool gelu, float gate, float up) {
  if (!gelu) return gate / (1.0F + __expf(-gate)) * up;
  const float inner = 0.7978845608F * (gate + 0.044715F * gate * gate * gate);
  return 0.5F * gate * (1.0F + tanhf(inner)) * up;
}

// A thread makes two values.
template <class In, class Out>
__global__ void gate_kernel(const GateArgs a) {
  launch_dependents();
  wait_for_previous();
  const long long index = thread_index() * 2;
  const long long row = index / a.n;
  if (row >= a.rows) return;
  float gate[2] = {0, 0};
  float up[2] = {0, 0};
  for (int split = 0; split < a.splits; ++split) {
    const In* from = static_cast<const In*>(a.in) +
                     (static_cast<long long>(split) * a.rows + row) * 2 * a.n + index % a.n;
    gate[0] += to_float(from[0]);
    gate[1] += to_float(from[1]);
    up[0] += to_float(from[a.n]);
    up[1] += to_float(from[a.n + 1]);
  }
  reinterpret_cast<uint32_t*>(a.out)[index / 2] =
      pack<Out>(gated(a.gelu, gate[0], up[0]), gated(a.gelu, gate[1], up[1]));
}

// A thread makes eight values; n is a multiple of 8.
template <class T>
__global__ void gate_eight_kernel(const GateArgs a) {
  launch_dependents();
  wait_for_previous();
  const long long row = blockIdx.y;
  const int column = static_cast<int>(thread_index()) * 8;
  if (column >= a.n) return;
  const auto* from =
      reinterpret_cast<const uint4*>(static_cast<const T*>(a.in) + row * 2 * a.n + column);
  float gate[8];
  float up[8];
  unpack_eight<T>(from[0], gate);
  unpack_eight<T>(from[a.n / 8], up);
#pragma unroll
  for (int i = 0; i < 8; ++i) gate[i] = gated(a.gelu, gate[i], up[i]);
  *reinterpret_cast<uint4*>(static_cast<T*>(a.out) + row * a.n + column) =
      make_uint4(pack<T>(gate[0], gate[1]), pack<T>(gate[2], gate[3]), pack<T>(gate[4], gate[5]),
                 pack<T>(gate[6], gate[7]));
}

// A block makes a row of E4M3, which waits in shared memory as F16 until its largest is known.
__global__ __launch_bounds__(kNormThreads) void gate_e4m3_kernel(const GateArgs a) {
  extern __shared__ __align__(16) uint4 kept[];
  __shared__ float scratch[kWarp];
  launch_dependents();
  wait_for_previous();
  const long long row = blockIdx.x;
  const int vectors = a.n / 8;
  const auto* from = static_cast<const uint4*>(a.in) + row * 2 * vectors;
  const float of_row = a.scales.rows[row];
  float most = 0.0F;
  for (int i = static_cast<int>(threadIdx.x); i < vectors; i += kNormThreads) {
    float x[8];
    float up[8];
    unpack_eight<__nv_bfloat16>(from[i], x);
    unpack_eight<__nv_bfloat16>(from[vectors + i], up);
    float of_gate[8];
    float of_up[8];
    load_eight(a.scales.columns + i * 8, of_gate);
    load_eight(a.scales.columns + a.n + i * 8, of_up);
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      x[k] = gated(a.gelu, x[k] * of_row * of_gate[k], up[k] * of_row * of_up[k]);
      most = fmaxf(most, fabsf(x[k]));
    }
    kept[i] = make_uint4(pack<__half>(x[0], x[1]), pack<__half>(x[2], x[3]),
                         pack<__half>(x[4], x[5]), pack<__half>(x[6], x[7]));
  }
  const float scale = e4m3_scale(block_most(most, scratch));
  if (threadIdx.x == 0) a.out_scales[row] = scale;
  for (int i = static_cast<int>(threadIdx.x); i < vectors; i += kNormThreads) {
    float x[8];
    unpack_eight<__half>(kept[i], x);
    static_cast<uint2*>(a.out)[row * vectors + i] = eight_e4m3(x, 1.0F / scale);
  }
}

template <class T>
__global__ void quantize_rows_kernel(const QuantizeArgs a) {
  __shared__ float scratch[kWarp];
  launch_dependents();
  wait_for_previous();
  const long long row = blockIdx.x;
  const int vectors = a.width / 8;
  const auto* from = static_cast<const uint4*>(a.in) + row * vectors;
  float most = 0.0F;
  for (int i = static_cast<int>(threadIdx.x); i < vectors; i += kThreads) {
    float x[8];
    unpack_eight<T>(from[i], x);
#pragma unroll
    for (int k = 0; k < 8; ++k) most = fmaxf(most, fabsf(x[k]));
  }
  const float scale = e4m3_scale(block_most(most, scratch));
  if (threadIdx.x == 0) a.scales[row] = scale;
  for (int i = static_cast<int>(threadIdx.x); i < vectors; i += kThreads) {
    float x[8];
    unpack_eight<T>(from[i], x);
    static_cast<uint2*>(a.out)[row * vectors + i] = eight_e4m3(x, 1.0F / scale);
  }
}

__global__ void gather_kernel(const GatherArgs a) {
  launch_dependents();
  wait_for_previous();
  const long long vectors = a.row_bytes / 16;
  const auto* from = static_cast<const uint4*>(a.from) + a.rows[blockIdx.x] * vectors;
  auto* to = static_cast<uint4*>(a.to) + blockIdx.x * vectors;
  for (long long i = threadIdx.x; i < vectors; i += kThreads) to[i] = from[i];
}

struct Best {
  float value;
  int index;
};
__device__ Best better(const Best& a, const Best& b) {
  return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;
}

__global__ __launch_bounds__(kNormThreads) void finish_logits_kernel(const FinishLogitsArgs a) {
  __shared__ Best bests[kWarp];
  launch_dependents();
  wait_for_previous();
  const long long row = blockIdx.x;
  float* out = a.logits + row * a.width;
  Best best{-INFINITY, INT_MAX};
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < a.width; i += kNormThreads) {
    float x = 0.0F;
    for (int split = 0; split < a.splits; ++split) {
      x += a.sums[(static_cast<long long>(split) * a.rows + row) * a.width + i];
    }
    if (a.softcap > 0.0F) x = a.softcap * tanhf(x / a.softcap);
    if (a.splits != 1 || a.softcap > 0.0F || a.sums != a.logits) out[i] = x;
    if (isfinite(x)) best = better(best, Best{x, i});
  }
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    best = better(best, Best{__shfl_xor_sync(~0U, best.value, offset),
                             __shfl_xor_sync(~0U, best.index, offset)});
  }
  if (threadIdx.x % kWarp == 0) bests[threadIdx.x / kWarp] = best;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < kNormThreads / kWarp; ++i) best = better(best, bests[i]);
  a.best[row] = best.index == INT_MAX ? -1 : best.index;
}

}  // namespace

void embed(const EmbedArgs& args, const device::cuda::Stream& stream) {
  const Shape shape{dim3(static_cast<unsigned>(args.rows)), kThreads, 0};
  if (args.dtype == device::DType::kF32) {
    launch(embed_kernel<float>, shape, stream, args);
    return;
  }
  with_half_type(args.dtype,
                 [&](auto type) { launch(embed_kernel<decltype(type)>, shape, stream, args); });
}

void add_norm(const AddNormArgs& args, const device::cuda::Stream& stream) {
  O3_CHECK(args.width % 4 == 0 && args.width <= 4 * kNormVectors * kNormThreads,
           "add_norm: width is a multiple of 4, at most 16384");
  const Shape shape{dim3(static_cast<unsigned>(args.rows)), kNormThreads, 0};
  const int per_thread = (args.width / 4 + kNormThreads - 1) / kNormThreads;
  with_product_type(args.dtype, [&](auto type) {
    using T = decltype(type);
    launch(per_thread <= 1   ? add_norm_kernel<T, 1>
           : per_thread == 2 ? add_norm_kernel<T, 2>
           : per_thread <= 4 ? add_norm_kernel<T, 4>
                             : add_norm_kernel<T, kNormVectors>,
           shape, stream, args);
  });
}

void gate(const GateArgs& args, const device::cuda::Stream& stream) {
  O3_CHECK(args.n % 2 == 0, "gate: n is even");
  const auto rows = static_cast<unsigned>(args.rows);
  if (args.dtype == device::DType::kF8_E4M3) {
    O3_CHECK(
        args.n % 8 == 0 && args.in_dtype == device::DType::kBF16 && args.scales.rows != nullptr,
        "gate: E4M3 of BF16 with scales");
    launch(gate_e4m3_kernel,
           {dim3(rows), kNormThreads, static_cast<size_t>(args.n) * sizeof(__half)}, stream, args);
    return;
  }
  O3_CHECK(args.scales.rows == nullptr, "gate: scales go with E4M3");
  if (args.in_dtype == args.dtype && args.n % 8 == 0) {
    const dim3 grid(blocks_for(args.n / 8, kThreads), rows);
    with_half_type(args.dtype, [&](auto type) {
      launch(gate_eight_kernel<decltype(type)>, {grid, kThreads, 0}, stream, args);
    });
    return;
  }
  const Shape shape{dim3(blocks_for(static_cast<long long>(args.rows) * args.n / 2, kThreads)),
                    kThreads, 0};
  with_half_type(args.dtype, [&](auto type) {
    using T = decltype(type);
    const bool wide = args.in_dtype == device::DType::kF32;
    launch(wide ? gate_kernel<float, T> : gate_kernel<T, T>, shape, stream, args);
  });
}

void quantize_rows(const QuantizeArgs& args, const device::cuda::Stream& stream) {
  O3_CHECK(args.width % 8 == 0, "quantize_rows: width is a multiple of 8");
  const Shape shape{dim3(static_cast<unsigned>(args.rows)), kThreads, 0};
  with_half_type(args.dtype, [&](auto type) {
    launch(quantize_rows_kernel<decltype(type)>, shape, stream, args);
  });
}

void gather(const GatherArgs& args, const device::cuda::Stream& stream) {
  O3_CHECK(args.row_bytes % 16 == 0, "gather: rows are multiples of 16 bytes");
  launch(gather_kernel, {dim3(static_cast<unsigned>(args.count)), kThreads, 0}, stream, args);
}

void finish_logits(const FinishLogitsArgs& args, const device::cuda::Stream& stream) {
  launch(finish_logits_kernel, {dim3(static_cast<unsigned>(args.rows)), kNormThreads, 0}, stream,
         args);
}

}  // namespace o3::kernels::cuda
