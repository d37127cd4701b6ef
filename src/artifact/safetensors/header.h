// SPDX-License-Identifier: Apache-2.0
// The JSON header of a safetensors file. Internal to artifact.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace o3::artifact {

// As the header says it; nothing but its form is checked.
struct HeaderTensor {
  std::string name;
  std::string type;
  std::vector<uint64_t> shape;  // at most 8 extents
  uint64_t begin = 0;           // data_offsets
  uint64_t end = 0;
};

// A streaming read: memory stays within a few times the text, nesting is refused. `file` is for
// messages. "__metadata__" must be a map of strings and is dropped.
Result<std::vector<HeaderTensor>> read_header(std::string_view text, const std::string& file);

}  // namespace o3::artifact
