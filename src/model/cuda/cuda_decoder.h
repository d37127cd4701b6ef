// SPDX-License-Identifier: Apache-2.0
// The decoder of model/decoder.h on an NVIDIA GPU.
#pragma once

#include <memory>

#include "base/result.h"
#include "device/backend.h"
#include "model/checkpoint.h"
#include "model/model.h"

namespace o3::model::cuda {

// The backend is a CudaBackend; it must outlive the model. Weights are copied to it as they are in
// the checkpoint, which is not kept. kUnsupported: a weight type or shape without a kernel, named.
Result<std::unique_ptr<Model>> load_decoder(const std::shared_ptr<const Checkpoint>& checkpoint,
                                            const ModelConfig& config, device::Backend& backend,
                                            const LoadOptions& options);

}  // namespace o3::model::cuda
