// SPDX-License-Identifier: Apache-2.0
// A model as Hugging Face transformers saves it: config.json, generation_config.json, safetensors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "artifact/safetensors/safetensors_set.h"
#include "base/result.h"

namespace o3::artifact {

// Immutable and safe to share.
class HfDirectory {
 public:
  // kNotFound: no config.json or no weights. Only the form of the files is checked here; what the
  // configuration means is the model's affair.
  static Result<HfDirectory> open(const std::filesystem::path& path);

  const std::string& name() const noexcept { return name_; }  // the directory's own, for messages
  const std::filesystem::path& path() const noexcept { return path_; }
  const nlohmann::json& config() const noexcept { return config_; }          // an object
  const nlohmann::json& generation() const noexcept { return generation_; }  // may be empty
  const SafetensorsSet& tensors() const noexcept { return tensors_; }

 private:
  HfDirectory() = default;

  std::filesystem::path path_;
  std::string name_;
  nlohmann::json config_;
  nlohmann::json generation_ = nlohmann::json::object();
  SafetensorsSet tensors_;
};

// The last component of a directory's path, also of "models/", "." or "..".
std::string directory_name(const std::filesystem::path& path);

}  // namespace o3::artifact
