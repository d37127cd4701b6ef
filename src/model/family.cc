// SPDX-License-Identifier: Apache-2.0
#include "model/family.h"

#include <string>
#include <utility>

#include "base/printable.h"
#include "model/llama.h"

namespace o3::model {
namespace {

constexpr Family kFamilies[] = {
    {"llama", load_llama},
};

}  // namespace

std::span<const Family> families() noexcept {
  return kFamilies;
}

Result<std::unique_ptr<Model>> load_model(std::shared_ptr<const artifact::GgufFile> file,
                                          device::Backend& backend, const LoadOptions& options) {
  using device::DType;
  if (options.kv_dtype != DType::kF16 && options.kv_dtype != DType::kF32) {
    return unsupported("the KV cache cannot hold " +
                           std::string(device::traits(options.kv_dtype).name) +
                           "; F16 and F32 would work",
                       "kv");
  }
  O3_ASSIGN(const std::string name, file->required<std::string>("general.architecture"));
  std::string known;
  for (const Family& family : families()) {
    if (family.architecture == name) return family.load(std::move(file), backend, options);
    known += (known.empty() ? "" : ", ") + std::string(family.architecture);
  }
  return unsupported("model architecture \"" + printable(name) +
                         "\" is not known to this build; it knows: " + known,
                     "general.architecture");
}

}  // namespace o3::model
