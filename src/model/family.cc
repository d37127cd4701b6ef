// SPDX-License-Identifier: Apache-2.0
#include "model/family.h"

#include <string>
#include <utility>

#include "base/printable.h"
#include "model/decoder.h"
#include "model/families.h"

namespace o3::model {
namespace {

constexpr Family kFamilies[] = {
    {"llama", read_llama_config},
    {"qwen2", read_qwen2_config},
    {"qwen3", read_qwen3_config},
    {"gemma3", read_gemma3_config},
};

}  // namespace

std::span<const Family> families() noexcept {
  return kFamilies;
}

Result<ModelConfig> read_config(const artifact::GgufFile& metadata, const Checkpoint& checkpoint) {
  O3_ASSIGN(const std::string name, metadata.required<std::string>("general.architecture"));
  std::string known;
  for (const Family& family : families()) {
    if (family.architecture == name) return family.read_config(metadata, checkpoint);
    known += (known.empty() ? "" : ", ") + std::string(family.architecture);
  }
  return unsupported("model architecture \"" + printable(name) +
                         "\" is not known to this build; it knows: " + known,
                     "general.architecture");
}

Result<std::unique_ptr<Model>> load_model(const std::shared_ptr<const artifact::GgufFile>& file,
                                          device::Backend& backend, const LoadOptions& options) {
  using device::DType;
  if (options.kv_dtype != DType::kF16 && options.kv_dtype != DType::kF32) {
    return unsupported("the KV cache cannot hold " +
                           std::string(device::traits(options.kv_dtype).name) +
                           "; F16 and F32 would work",
                       "kv");
  }
  const auto checkpoint = std::make_shared<const GgufCheckpoint>(file);
  O3_ASSIGN(ModelConfig config, read_config(*file, *checkpoint));
  return load_decoder(checkpoint, std::move(config), backend, options);
}

}  // namespace o3::model
