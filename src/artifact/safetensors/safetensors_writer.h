// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "artifact/output_file.h"
#include "artifact/row_tensor.h"
#include "base/result.h"

namespace o3::artifact {

// Tensors of F32, F16 and BF16 as one safetensors file, written whole or not at all (OutputFile).
// The header says {"format": "pt"}, which transformers asks for; data are aligned to their type.
Result<void> write_safetensors(const std::filesystem::path& path, std::vector<RowTensor> tensors,
                               Overwrite overwrite, const KeepGoing& keep_going = {});

struct Shards {
  uint64_t bytes = 0;              // of all tensors
  std::vector<std::string> files;  // one: model.safetensors, without an index
};
// The same into a directory, in shards of at most `most_bytes` with their index.
Result<Shards> write_safetensors_set(const std::filesystem::path& directory,
                                     std::vector<RowTensor> tensors, int64_t most_bytes,
                                     const KeepGoing& keep_going = {});

}  // namespace o3::artifact
