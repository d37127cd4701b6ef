// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <array>

#include "base/check.h"
#include "kernels/cuda/tensor_map.h"

namespace o3::kernels::cuda {
namespace {

constexpr cuuint64_t kManyPages = cuuint64_t{1} << 31U;  // page ids are never checked against it
constexpr cuuint32_t kBoxNumbers = 64;                   // 128 bytes
constexpr unsigned kSinceDriver = 12000;

using Encode = decltype(&cuTensorMapEncodeTiled);

// From the driver that the runtime has loaded: no library is linked for it.
Encode find_encode() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  const cudaError_t status = cudaGetDriverEntryPointByVersion(
      "cuTensorMapEncodeTiled", &found, kSinceDriver, cudaEnableDefault, &result);
  O3_CHECK(status == cudaSuccess && result == cudaDriverEntryPointSuccess,
           "every driver for Hopper describes tensors");
  return reinterpret_cast<Encode>(found);
}

}  // namespace

CUtensorMap paged_map(const PagedKv& kv, int64_t offset, int box_rows) {
  static const Encode kEncode = find_encode();
  const std::array<cuuint64_t, 3> sizes{
      static_cast<cuuint64_t>(kv.head_dim),
      static_cast<cuuint64_t>(kv.kv_heads) * static_cast<cuuint64_t>(kv.page_tokens), kManyPages};
  const std::array<cuuint64_t, 2> strides{static_cast<cuuint64_t>(kv.head_dim) * 2,
                                          static_cast<cuuint64_t>(kv.page_bytes)};
  const std::array<cuuint32_t, 3> box{kBoxNumbers, static_cast<cuuint32_t>(box_rows), 1};
  const std::array<cuuint32_t, 3> steps{1, 1, 1};
  CUtensorMap map{};
  const CUresult made = kEncode(
      &map,
      kv.dtype == DType::kF16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
      sizes.size(), kv.pool + offset, sizes.data(), strides.data(), box.data(), steps.data(),
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  O3_CHECK(made == CUDA_SUCCESS, "pages and heads are multiples of 16 bytes");
  return map;
}

}  // namespace o3::kernels::cuda
