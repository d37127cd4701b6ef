// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace o3::artifact {

// A tensor that a file lists and that no kernel reads: of another type, empty, of more than 4
// dimensions. It hinders nobody until a model asks for it. Listed by `o3 model inspect`.
struct UnreadTensor {
  std::string name;
  std::string type;            // as the file format calls it
  std::vector<int64_t> shape;  // PyTorch order
  // "has type IQ2_XXS, which ...": what stands behind the name in a message, with what would work.
  std::string problem;
  // Whole numbers, truth values or no elements at all: buffers that libraries save beside weights.
  // Another one may be a part of the model that this build knows nothing of.
  bool weightless = false;
};

}  // namespace o3::artifact
