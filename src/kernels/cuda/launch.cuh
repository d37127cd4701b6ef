// SPDX-License-Identifier: Apache-2.0
// How every kernel of this folder is launched.
#pragma once

#include <cuda_runtime.h>

#include <utility>

#include "device/cuda/stream.h"

namespace o3::kernels::cuda {

using device::cuda::Stream;

inline constexpr int kWarp = 32;
inline constexpr size_t kDefaultSharedBytes = 48 * 1024;  // above it a kernel must ask

struct Shape {
  dim3 grid;
  int threads = 0;
  size_t shared_bytes = 0;
};

// Programmatic dependent launch: a kernel's blocks may start while the kernel before it on the
// stream still runs, as soon as every block of that one has called launch_dependents() or ended.
// So each kernel calls wait_for_previous() before it touches what an earlier kernel wrote or reads;
// before it, only constants (weights, tables) may be read. Errors stay in the runtime's last error,
// which CudaBackend::check_launches() reads once per step.
template <class... Formal, class... Actual>
void launch(void (*kernel)(Formal...), const Shape& shape, const Stream& stream,
            Actual&&... arguments) {
  if (shape.shared_bytes > kDefaultSharedBytes) {
    static_cast<void>(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           static_cast<int>(shape.shared_bytes)));
  }
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = dim3(static_cast<unsigned>(shape.threads));
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = static_cast<cudaStream_t>(stream.handle);
  config.attrs = &overlap;
  config.numAttrs = 1;
  static_cast<void>(
      cudaLaunchKernelEx(&config, kernel, static_cast<Formal>(std::forward<Actual>(arguments))...));
}

__device__ inline void wait_for_previous() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
__device__ inline void launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

}  // namespace o3::kernels::cuda
