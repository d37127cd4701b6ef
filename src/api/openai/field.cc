// SPDX-License-Identifier: Apache-2.0
#include "api/openai/field.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace o3::api::openai {
namespace {

Error wrong_type(const std::string& path, std::string_view expected, const Json& value) {
  return invalid(path + " must be " + std::string(expected) + ", not " + value.type_name() + ".",
                 path);
}

std::string short_number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", value);
  return text.data();
}

}  // namespace

Result<bool> read_flag(const Json& value, const std::string& path) {
  if (!value.is_boolean()) return wrong_type(path, "true or false", value);
  return value.get<bool>();
}

Result<std::string> read_text(const Json& value, const std::string& path) {
  if (!value.is_string()) return wrong_type(path, "a string", value);
  return value.get<std::string>();
}

Result<int64_t> read_integer(const Json& value, const std::string& path, int64_t min, int64_t max) {
  if (!value.is_number()) return wrong_type(path, "an integer", value);
  const auto outside = [&] {
    return invalid(
        path + " must be an integer in " + std::to_string(min) + ".." + std::to_string(max) + ".",
        path);
  };
  if (!value.is_number_integer()) return outside();
  if (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
    return outside();
  }
  const auto number = value.get<int64_t>();
  if (number < min || number > max) return outside();
  return number;
}

Result<double> read_real(const Json& value, const std::string& path, double min, double max,
                         bool above_min) {
  if (!value.is_number()) return wrong_type(path, "a number", value);
  const auto number = value.get<double>();
  if (!std::isfinite(number) || number < min || number > max || (above_min && number == min)) {
    return invalid(path + " must be " + (above_min ? "above " : "at least ") + short_number(min) +
                       " and at most " + short_number(max) + ".",
                   path);
  }
  return number;
}

}  // namespace o3::api::openai
