// SPDX-License-Identifier: Apache-2.0
// The model families this build knows, and the one way to load a model.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "artifact/gguf/gguf_file.h"
#include "base/result.h"
#include "device/backend.h"
#include "model/checkpoint.h"
#include "model/model.h"

namespace o3::model {

struct Family {
  std::string_view architecture;  // general.architecture
  Result<ModelConfig> (*read_config)(const artifact::GgufFile& metadata,
                                     const Checkpoint& checkpoint);
};

std::span<const Family> families() noexcept;

// Hyper-parameters by the file's architecture; see load_model() for errors.
Result<ModelConfig> read_config(const artifact::GgufFile& metadata, const Checkpoint& checkpoint);

// The model of a GGUF file, its weights packed for the backend, which must outlive the model. The
// model keeps the file mapped (embedding rows are read from it, and some kernels read weights in
// place); pages that packing has copied are given back to the system.
// kUnsupported: an architecture, tensor or setting this build does not know, named, with what
// would work. kInvalid: metadata out of bounds, tensors missing or misshapen, all named.
Result<std::unique_ptr<Model>> load_model(const std::shared_ptr<const artifact::GgufFile>& file,
                                          device::Backend& backend, const LoadOptions& options);

}  // namespace o3::model
