// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace o3::device::cuda {

// A CUDA stream without its type, so that headers need no toolkit; owned by a CudaBackend.
struct Stream {
  void* handle = nullptr;       // cudaStream_t
  int32_t multiprocessors = 0;  // of the device, for the size of persistent grids
};

}  // namespace o3::device::cuda
