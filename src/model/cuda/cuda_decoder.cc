// SPDX-License-Identifier: Apache-2.0
#include "model/cuda/cuda_decoder.h"

#include <utility>
#include <vector>

#include "model/cuda/cuda_runner.h"
#include "model/cuda/device_weights.h"

namespace o3::model::cuda {
namespace {

class CudaDecoder final : public Model {
 public:
  CudaDecoder(ModelConfig config, device::DType kv_dtype) : config_(std::move(config)) {
    for (int32_t layer = 0; layer < config_.layers; ++layer) {
      const bool windowed = config_.is_windowed(layer);
      specs_.push_back(
          {.kind = windowed ? cache::CacheKind::kSlidingWindow : cache::CacheKind::kFull,
           .kv_heads = config_.kv_heads,
           .head_dim = config_.head_dim,
           .window = windowed ? config_.window : 0,
           .dtype = kv_dtype});
    }
  }

  Result<void> pack(const DecoderTensors& tensors, WeightStorage storage,
                    device::cuda::CudaBackend& backend) {
    return upload(tensors, config_, storage, backend, weights_);
  }

  const ModelConfig& config() const noexcept override { return config_; }
  std::span<const cache::CacheSpec> cache_specs() const noexcept override { return specs_; }
  int64_t weight_bytes() const noexcept override { return weights_.step_bytes(); }
  Result<std::unique_ptr<StepRunner>> make_runner(const RunnerLimits& limits,
                                                  device::Backend& backend,
                                                  const KvView& kv) const override {
    return make_cuda_runner(config_, weights_, limits,
                            static_cast<device::cuda::CudaBackend&>(backend), kv);
  }

 private:
  ModelConfig config_;
  std::vector<cache::CacheSpec> specs_;
  DeviceWeights weights_;
};

}  // namespace

Result<std::unique_ptr<Model>> load_decoder(const std::shared_ptr<const Checkpoint>& checkpoint,
                                            const ModelConfig& config, device::Backend& backend,
                                            const LoadOptions& options) {
  if (options.compute == kernels::Compute::kF32) {
    return unsupported(
        "the CUDA backend has 16-bit activations only; leave --compute f32 to the CPU", "compute");
  }
  O3_ASSIGN(const DecoderTensors tensors, bind_decoder(*checkpoint, config));
  auto model = std::make_unique<CudaDecoder>(config, options.kv_dtype);
  O3_TRY(model->pack(tensors, options.weights, static_cast<device::cuda::CudaBackend&>(backend)));
  checkpoint->release_pages();
  return std::unique_ptr<Model>(std::move(model));
}

}  // namespace o3::model::cuda
