// SPDX-License-Identifier: Apache-2.0
// What stands in for the CUDA decoder in builds without it.
#include "model/cuda/cuda_decoder.h"

namespace o3::model::cuda {

Result<std::unique_ptr<Model>> load_decoder(const std::shared_ptr<const Checkpoint>& /*checkpoint*/,
                                            const ModelConfig& /*config*/,
                                            device::Backend& /*backend*/,
                                            const LoadOptions& /*options*/) {
  return unsupported("this build has no CUDA backend", "device");
}

}  // namespace o3::model::cuda
