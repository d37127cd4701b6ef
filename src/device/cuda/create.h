// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "device/backend.h"

namespace o3::device::cuda {

// The GPU `ordinal`, as a CudaBackend. kUnsupported: none such, one that this build has no kernels
// for, or a build without CUDA.
Result<std::unique_ptr<Backend>> create_backend(int ordinal);

}  // namespace o3::device::cuda
