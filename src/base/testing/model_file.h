// SPDX-License-Identifier: Apache-2.0
// For tests only: where the model files are that `./dev` fetches.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace o3::testing {

inline constexpr std::string_view kDefaultModel = "SmolLM2-135M-Instruct.Q4_1.gguf";

inline std::string_view environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? std::string_view() : value;
}

// Whether $O3_REQUIRE, a comma list, names the thing: its absence is then a failure, not a skip.
inline bool required(std::string_view thing) {
  std::string_view list = environment("O3_REQUIRE");
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == thing) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

// In $O3_MODEL_DIR, else $XDG_CACHE_HOME/o3/models, else ~/.cache/o3/models. The file may be
// absent: the test then skips with a message, and has failed here if $O3_REQUIRE names `model`.
inline std::filesystem::path model_file(std::string_view name = kDefaultModel) {
  const auto under = [name](const char* variable, const char* folder) {
    return std::filesystem::path(environment(variable)) / folder / name;
  };
  const std::filesystem::path path =
      !environment("O3_MODEL_DIR").empty()     ? under("O3_MODEL_DIR", "")
      : !environment("XDG_CACHE_HOME").empty() ? under("XDG_CACHE_HOME", "o3/models")
                                               : under("HOME", ".cache/o3/models");
  EXPECT_TRUE(!required("model") || std::filesystem::exists(path))
      << path << " is absent, and O3_REQUIRE names the model";
  return path;
}

}  // namespace o3::testing
