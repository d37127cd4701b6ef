// SPDX-License-Identifier: Apache-2.0
// For tests only: where the model files are that `./dev` fetches.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace o3::testing {

inline constexpr std::string_view kDefaultModel = "SmolLM2-135M-Instruct.Q4_1.gguf";

// $O3_MODEL_DIR, else $XDG_CACHE_HOME/o3/models, else ~/.cache/o3/models. The file may be absent:
// the test then skips with a message.
inline std::filesystem::path model_file(std::string_view name = kDefaultModel) {
  const auto from = [](const char* variable) {
    const char* value = std::getenv(variable);
    return std::filesystem::path(value == nullptr ? "" : value);
  };
  if (!from("O3_MODEL_DIR").empty()) return from("O3_MODEL_DIR") / name;
  if (!from("XDG_CACHE_HOME").empty()) return from("XDG_CACHE_HOME") / "o3/models" / name;
  return from("HOME") / ".cache/o3/models" / name;
}

}  // namespace o3::testing
