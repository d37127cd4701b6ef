// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/result.h"
#include "device/cuda/cuda_backend.h"
#include "model/cuda/device_weights.h"
#include "model/model.h"

namespace o3::model::cuda {

// See Model::make_runner(). Steps in which every sequence decodes one row are replayed from CUDA
// graphs, made when a shape comes for the second time.
Result<std::unique_ptr<StepRunner>> make_cuda_runner(const ModelConfig& config,
                                                     const DeviceWeights& weights,
                                                     const RunnerLimits& limits,
                                                     device::cuda::CudaBackend& backend,
                                                     const KvView& kv);

}  // namespace o3::model::cuda
