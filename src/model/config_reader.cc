// SPDX-License-Identifier: Apache-2.0
#include "model/config_reader.h"

#include <cmath>
#include <optional>

namespace o3::model {
namespace {

std::string number_text(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

template <class T>
Error out_of_range(const std::string& key, T value, T least, T most) {
  const auto text = [](T number) { return number_text(static_cast<double>(number)); };
  return invalid(
      key + " is " + text(value) + "; it must be from " + text(least) + " to " + text(most), key);
}

Error changes_arithmetic(const std::string& key, const std::string& found,
                         const std::string& neutral) {
  return unsupported(key + " is " + found + "; this build serves only models where it is " +
                         neutral + " or absent",
                     key);
}

}  // namespace

bool ConfigReader::has(std::string_view name) const {
  return file_.find(key(name)) != nullptr;
}

Result<int32_t> ConfigReader::integer(std::string_view name, int32_t least, int32_t most) const {
  const std::string full = key(name);
  O3_ASSIGN(const int32_t value, file_.required<int32_t>(full));
  if (value < least || value > most) return out_of_range(full, value, least, most);
  return value;
}

Result<int32_t> ConfigReader::integer_or(std::string_view name, int32_t fallback, int32_t least,
                                         int32_t most) const {
  if (!has(name)) return fallback;
  return integer(name, least, most);
}

Result<double> ConfigReader::real(std::string_view name, double least, double most) const {
  const std::string full = key(name);
  O3_ASSIGN(const double value, file_.required<double>(full));
  // Written so that a NaN is refused too.
  if (!(value >= least && value <= most)) return out_of_range(full, value, least, most);
  return value;
}

Result<double> ConfigReader::real_or(std::string_view name, double fallback, double least,
                                     double most) const {
  if (!has(name)) return fallback;
  return real(name, least, most);
}

Result<void> ConfigReader::require_number(std::string_view name, double neutral) const {
  const std::string full = key(name);
  const artifact::GgufValue* value = file_.find(full);
  if (value == nullptr) return {};
  const bool real_type =
      value->type == artifact::GgufType::kF32 || value->type == artifact::GgufType::kF64;
  double found = 0.0;
  if (real_type) {
    O3_ASSIGN(found, value->as<double>(full));
  } else {
    O3_ASSIGN(const int64_t integer, value->as<int64_t>(full));
    found = static_cast<double>(integer);
  }
  if (found == neutral) return {};
  return changes_arithmetic(full, number_text(found), number_text(neutral));
}

Result<void> ConfigReader::require_text(std::string_view name, std::string_view neutral) const {
  const std::string full = key(name);
  O3_ASSIGN(const std::optional<std::string> found, file_.optional<std::string>(full));
  if (!found || *found == neutral) return {};
  // The value is the file's own text, so it is not repeated.
  std::string quoted(1, '"');
  quoted.append(neutral).append(1, '"');
  return changes_arithmetic(full, "set to another value", quoted);
}

}  // namespace o3::model
