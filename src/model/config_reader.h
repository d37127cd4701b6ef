// SPDX-License-Identifier: Apache-2.0
// Hyper-parameters, each bounded before anything is sized by it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/hyper_parameters.h"

namespace o3::model {

// Reads settings by the names that GGUF gives them, without the architecture. Errors name the key
// as the file has it, what was found and what would work.
class ConfigReader {
 public:
  explicit ConfigReader(const HyperParameters& parameters) : parameters_(parameters) {}

  const std::string& architecture() const noexcept { return parameters_.architecture(); }
  const std::string& model_name() const noexcept { return parameters_.model_name; }
  std::string key(std::string_view name) const { return parameters_.label(name); }

  bool has(std::string_view name) const { return parameters_.find(name) != nullptr; }
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
  template <class T>
  Result<T> required(std::string_view name, std::string_view wanted) const;

  const HyperParameters& parameters_;
};

}  // namespace o3::model
