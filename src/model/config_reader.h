// SPDX-License-Identifier: Apache-2.0
// Hyper-parameters from GGUF metadata, each bounded before anything is sized by it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/gguf/gguf_file.h"
#include "base/result.h"

namespace o3::model {

// Reads keys "ARCHITECTURE.NAME". Errors name the key, what was found and what would work.
class ConfigReader {
 public:
  ConfigReader(const artifact::GgufFile& file, std::string_view architecture)
      : file_(file), architecture_(architecture) {}

  const std::string& architecture() const noexcept { return architecture_; }
  std::string key(std::string_view name) const { return architecture_ + "." + std::string(name); }
  Result<std::string> model_name() const;  // general.name, for people; may be empty

  bool has(std::string_view name) const;
  Result<int32_t> integer(std::string_view name, int32_t least, int32_t most) const;
  Result<int32_t> integer_or(std::string_view name, int32_t fallback, int32_t least,
                             int32_t most) const;
  Result<double> real(std::string_view name, double least, double most) const;
  Result<double> real_or(std::string_view name, double fallback, double least, double most) const;
  Result<std::string> text_or(std::string_view name, std::string_view fallback) const;
  Result<bool> flag_or(std::string_view name, bool fallback) const;
  bool is_array(std::string_view name) const;
  // A list of `count` truth values, or of numbers that are 0 or 1.
  Result<std::vector<bool>> truth_values(std::string_view name, int32_t count) const;

  // Settings that change the arithmetic in a way the family does not implement: kUnsupported when
  // the key is there with another value than the neutral one, so that nothing is dropped silently.
  Result<void> require_number(std::string_view name, double neutral) const;

 private:
  const artifact::GgufFile& file_;
  std::string architecture_;
};

}  // namespace o3::model
