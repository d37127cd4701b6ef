// SPDX-License-Identifier: Apache-2.0
// What stands in for the CUDA backend in builds without it.
#include "device/cuda/create.h"

namespace o3::device::cuda {

Result<std::unique_ptr<Backend>> create_backend(int /*ordinal*/) {
  return unsupported("this build has no CUDA backend; one made with the preset \"cuda\" has",
                     "device");
}

}  // namespace o3::device::cuda
