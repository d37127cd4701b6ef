// SPDX-License-Identifier: Apache-2.0
// The model families this build knows, and the one way to load a model.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "artifact/gguf/gguf_file.h"
#include "artifact/hf/hf_directory.h"
#include "base/result.h"
#include "device/backend.h"
#include "model/checkpoint.h"
#include "model/hyper_parameters.h"
#include "model/model.h"

namespace o3::model {

struct Family {
  std::string_view architecture;  // general.architecture
  Result<ModelConfig> (*read_config)(const HyperParameters& parameters,
                                     const Checkpoint& checkpoint);
};

std::span<const Family> families() noexcept;

// A model's files, opened: what it is, and its tensors.
struct ModelSource {
  HyperParameters parameters;
  std::shared_ptr<const Checkpoint> checkpoint;
  size_t left_out = 0;  // tensors of parts that are not a text model
};
Result<ModelSource> open_source(std::shared_ptr<const artifact::GgufFile> file);
Result<ModelSource> open_source(std::shared_ptr<const artifact::HfDirectory> directory);

// kUnsupported: what no kernel of such a device serves.
Result<void> check_options(const LoadOptions& options, device::BackendKind kind);

// Settings by the model's architecture, bounded; see load_model() for errors.
Result<ModelConfig> read_config(const ModelSource& source);

// The model, its weights packed for the backend, which must outlive the model. The model keeps the
// files mapped (embedding rows are read from them, and some kernels read weights in place); pages
// that packing has copied are given back to the system.
// kUnsupported: an architecture, tensor or setting this build does not know, named, with what
// would work. kInvalid: metadata out of bounds, tensors missing or misshapen, all named.
Result<std::unique_ptr<Model>> load_model(const ModelSource& source, device::Backend& backend,
                                          const LoadOptions& options);

// The same for a GGUF file.
Result<std::unique_ptr<Model>> load_model(const std::shared_ptr<const artifact::GgufFile>& file,
                                          device::Backend& backend, const LoadOptions& options);

}  // namespace o3::model
