// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/snapshot.h"

namespace o3::app {

// A model that a server may serve.
struct ModelEntry {
  std::string name;                  // what requests call it
  std::string path;                  // GGUF file or Hugging Face directory
  std::vector<std::string> aliases;  // further names
  bool at_start = true;              // else loaded when asked for
};

// What `models`, `available` and `aliases` say; every name is well formed and given once.
Result<std::vector<ModelEntry>> model_entries(const config::Snapshot& settings);

}  // namespace o3::app
