// SPDX-License-Identifier: Apache-2.0
#include "model/load_model.h"

#include <string>
#include <utility>

#include "base/printable.h"
#include "model/cuda/cuda_decoder.h"
#include "model/decoder.h"
#include "model/family_configs.h"
#include "model/hf/hf_checkpoint.h"
#include "model/hf/hf_config.h"

namespace o3::model {
namespace {

constexpr Family kFamilies[] = {
    {"llama", read_llama_config},
    {"qwen2", read_qwen2_config},
    {"qwen3", read_qwen3_config},
    {"gemma3", read_gemma3_config},
};

// What the attention kernels of each kind of device read.
Result<void> check_kv(device::DType dtype, device::BackendKind kind) {
  using device::DType;
  const bool gpu = kind == device::BackendKind::kCuda;
  if (dtype == DType::kF16 || (!gpu && dtype == DType::kF32)) return {};
  if (gpu && (dtype == DType::kBF16 || dtype == DType::kF8_E4M3)) return {};
  return unsupported("the KV cache cannot hold " + std::string(device::traits(dtype).name) +
                         " on this device; " + (gpu ? "F16, BF16 and FP8" : "F16 and F32") +
                         " would work",
                     "kv");
}

Result<void> check_weights(WeightStorage storage, device::BackendKind kind) {
  if (storage == WeightStorage::kAsInFile || kind == device::BackendKind::kCuda) return {};
  return unsupported(
      "FP8 weights need a GPU (--device cuda:0); this device keeps them as in the file", "weights");
}

}  // namespace

std::span<const Family> families() noexcept {
  return kFamilies;
}

Result<void> check_options(const LoadOptions& options, device::BackendKind kind) {
  O3_TRY(check_kv(options.kv_dtype, kind));
  return check_weights(options.weights, kind);
}

Result<ModelSource> open_source(std::shared_ptr<const artifact::GgufFile> file) {
  O3_ASSIGN(HyperParameters parameters, gguf_hyper_parameters(*file));
  return ModelSource{std::move(parameters), std::make_shared<const GgufCheckpoint>(std::move(file)),
                     0};
}

Result<ModelSource> open_source(std::shared_ptr<const artifact::HfDirectory> directory) {
  O3_ASSIGN(HfConfig config, read_hf_config(directory->config(), directory->name()));
  O3_ASSIGN(std::unique_ptr<HfCheckpoint> checkpoint,
            HfCheckpoint::create(std::move(directory), config));
  const size_t left_out = checkpoint->left_out();
  return ModelSource{std::move(config.parameters), std::move(checkpoint), left_out};
}

Result<ModelConfig> read_config(const ModelSource& source) {
  const std::string& name = source.parameters.architecture();
  std::string known;
  for (const Family& family : families()) {
    if (family.architecture == name) {
      return family.read_config(source.parameters, *source.checkpoint);
    }
    known += (known.empty() ? "" : ", ") + std::string(family.architecture);
  }
  return unsupported("model architecture \"" + printable(name) +
                         "\" is not known to this build; it knows: " + known,
                     "general.architecture");
}

Result<std::unique_ptr<Model>> load_model(const ModelSource& source, device::Backend& backend,
                                          const LoadOptions& options) {
  O3_TRY(check_options(options, backend.kind()));
  O3_ASSIGN(ModelConfig config, read_config(source));
  if (backend.kind() == device::BackendKind::kCuda) {
    return cuda::load_decoder(source.checkpoint, config, backend, options);
  }
  return load_decoder(source.checkpoint, std::move(config), backend, options);
}

Result<std::unique_ptr<Model>> load_model(const std::shared_ptr<const artifact::GgufFile>& file,
                                          device::Backend& backend, const LoadOptions& options) {
  O3_ASSIGN(const ModelSource source, open_source(file));
  return load_model(source, backend, options);
}

}  // namespace o3::model
