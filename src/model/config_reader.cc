// SPDX-License-Identifier: Apache-2.0
#include "model/config_reader.h"

#include <cmath>
#include <optional>
#include <utility>

#include "base/check.h"

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

Result<std::string> ConfigReader::model_name() const {
  O3_ASSIGN(std::optional<std::string> name, file_.optional<std::string>("general.name"));
  return std::move(name).value_or("");
}

Result<std::string> ConfigReader::text_or(std::string_view name, std::string_view fallback) const {
  O3_ASSIGN(std::optional<std::string> found, file_.optional<std::string>(key(name)));
  return std::move(found).value_or(std::string(fallback));
}

Result<bool> ConfigReader::flag_or(std::string_view name, bool fallback) const {
  O3_ASSIGN(const std::optional<bool> found, file_.optional<bool>(key(name)));
  return found.value_or(fallback);
}

bool ConfigReader::is_array(std::string_view name) const {
  const artifact::GgufValue* value = file_.find(key(name));
  return value != nullptr && value->type == artifact::GgufType::kArray;
}

Result<std::vector<bool>> ConfigReader::truth_values(std::string_view name, int32_t count) const {
  const std::string full = key(name);
  const artifact::GgufValue* value = file_.find(full);
  O3_CHECK(value != nullptr, "asked for after is_array()");
  if (value->count != static_cast<uint64_t>(count)) {
    return invalid(full + " has " + std::to_string(value->count) + " entries for " +
                       std::to_string(count) + " layers",
                   full);
  }
  std::vector<bool> truths;
  if (value->element == artifact::GgufType::kBool) {
    for (const std::byte element : value->data) truths.push_back(element != std::byte{0});
    return truths;
  }
  O3_ASSIGN(const std::vector<int32_t> numbers, value->as<std::vector<int32_t>>(full));
  for (const int32_t number : numbers) {
    if (number != 0 && number != 1)
      return invalid(full + " holds numbers other than 0 and 1", full);
    truths.push_back(number == 1);
  }
  return truths;
}

}  // namespace o3::model
