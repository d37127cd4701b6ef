// SPDX-License-Identifier: Apache-2.0
#include "model/hyper_parameters.h"

#include <optional>
#include <utility>

namespace o3::model {
namespace {

using artifact::GgufType;
using artifact::GgufValue;

constexpr uint64_t kMostElements = 4096;  // of a list that says something about each layer

HyperValue list_value(const GgufValue& value, std::string_view key) {
  if (value.count > kMostElements) return OtherValue{value.type_name()};
  if (value.element == GgufType::kBool) {
    std::vector<int64_t> truths;
    for (const std::byte element : value.data) truths.push_back(element != std::byte{0} ? 1 : 0);
    return truths;
  }
  auto numbers = value.as<std::vector<int64_t>>(key);
  if (numbers.ok()) return *std::move(numbers);
  return OtherValue{value.type_name()};
}

HyperValue hyper_value(const GgufValue& value, std::string_view key) {
  switch (value.type) {
    case GgufType::kArray:
      return list_value(value, key);
    case GgufType::kString:
      if (auto text = value.as<std::string>(key); text.ok()) return *std::move(text);
      break;
    case GgufType::kBool:
      if (const auto flag = value.as<bool>(key); flag.ok()) return *flag;
      break;
    case GgufType::kF32:
    case GgufType::kF64:
      if (const auto real = value.as<double>(key); real.ok()) return *real;
      break;
    default:
      if (const auto integer = value.as<int64_t>(key); integer.ok()) return *integer;
      break;
  }
  return OtherValue{value.type_name() + " out of range"};
}

}  // namespace

Result<HyperParameters> gguf_hyper_parameters(const artifact::GgufFile& file) {
  O3_ASSIGN(std::string architecture, file.required<std::string>("general.architecture"));
  const std::string prefix = architecture + ".";
  HyperParameters parameters(std::move(architecture), prefix);
  parameters.source = file.name();
  O3_ASSIGN(std::optional<std::string> name, file.optional<std::string>("general.name"));
  parameters.model_name = std::move(name).value_or("");
  for (const artifact::GgufEntry& entry : file.metadata()) {
    if (entry.key.starts_with(kKeptScaling)) {
      parameters.set(entry.key, hyper_value(entry.value, entry.key));
    }
    if (!entry.key.starts_with(prefix)) continue;
    parameters.set(entry.key.substr(prefix.size()), hyper_value(entry.value, entry.key));
  }
  return parameters;
}

}  // namespace o3::model
