// SPDX-License-Identifier: Apache-2.0
// A model's settings under the names that GGUF gives them, wherever they come from.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "artifact/gguf/gguf_file.h"
#include "base/result.h"

namespace o3::model {

// A value of a kind that no setting has, kept as its type's name for messages.
struct OtherValue {
  std::string type;
};
using HyperValue =
    std::variant<OtherValue, bool, int64_t, double, std::string, std::vector<int64_t>>;

// Keys of ours for the scaling that rope_freqs.weight was made from (kLlama3), which the tensor
// does not always tell: written by conversions to GGUF and read by those from it.
inline constexpr const char* kKeptScaling = "o3.rope.scaling.";

// "block_count" and so on, without the architecture in front. Not yet bounded: ConfigReader does
// that.
class HyperParameters {
 public:
  // `prefix` stands before a name in messages ("llama."), unless call() gave it another.
  HyperParameters(std::string architecture, std::string prefix)
      : architecture_(std::move(architecture)), prefix_(std::move(prefix)) {}

  const std::string& architecture() const noexcept { return architecture_; }  // as GGUF calls it
  std::string model_name;                                                     // for people
  std::string source;                                                         // file or directory

  void set(std::string_view name, HyperValue value) {
    values_.insert_or_assign(std::string(name), std::move(value));
  }
  const HyperValue* find(std::string_view name) const {
    const auto at = values_.find(name);
    return at == values_.end() ? nullptr : &at->second;
  }
  const std::map<std::string, HyperValue, std::less<>>& values() const noexcept { return values_; }

  // How the file calls a setting, whether or not it is there.
  void call(std::string_view name, std::string_view label) {
    labels_.insert_or_assign(std::string(name), std::string(label));
  }
  std::string label(std::string_view name) const {
    const auto at = labels_.find(name);
    return at == labels_.end() ? prefix_ + std::string(name) : at->second;
  }

 private:
  std::string architecture_;
  std::string prefix_;
  std::map<std::string, HyperValue, std::less<>> values_;
  std::map<std::string, std::string, std::less<>> labels_;
};

// The keys "ARCHITECTURE.*" of a GGUF file, and kKeptScaling's, these under their whole names.
// kNotFound without general.architecture.
Result<HyperParameters> gguf_hyper_parameters(const artifact::GgufFile& file);

}  // namespace o3::model
