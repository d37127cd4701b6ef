// SPDX-License-Identifier: Apache-2.0
// The Llama family (Touvron et al. 2023): pre-norm, rotary positions, grouped query heads, SwiGLU.
#pragma once

#include <memory>

#include "artifact/gguf/gguf_file.h"
#include "base/result.h"
#include "device/backend.h"
#include "model/model.h"

namespace o3::model {

// Hyper-parameters of a "llama" GGUF file, all bounded; see load_model() for errors.
Result<ModelConfig> read_llama_config(const artifact::GgufFile& file);

Result<std::unique_ptr<Model>> load_llama(std::shared_ptr<const artifact::GgufFile> file,
                                          device::Backend& backend, const LoadOptions& options);

}  // namespace o3::model
