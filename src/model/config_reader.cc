// SPDX-License-Identifier: Apache-2.0
#include "model/config_reader.h"

#include <array>
#include <charconv>
#include <iterator>
#include <string>
#include <type_traits>
#include <variant>

namespace o3::model {
namespace {

// The shortest text that gives the number back: "1e-20", "0.1", "4096".
std::string number_text(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.begin(), text.end(), value);
  return {text.data(), end.ptr};
}

template <class T>
Error out_of_range(const std::string& key, T value, T least, T most) {
  const auto text = [](T number) {
    if constexpr (std::is_integral_v<T>) return std::to_string(number);
    return number_text(static_cast<double>(number));
  };
  return invalid(
      key + " is " + text(value) + "; it must be from " + text(least) + " to " + text(most), key);
}

Error changes_arithmetic(const std::string& key, const std::string& found,
                         const std::string& neutral) {
  return unsupported(key + " is " + found + "; this build serves only models where it is " +
                         neutral + " or absent",
                     key);
}

std::string kind_of(const HyperValue& value) {
  constexpr const char* kNames[] = {
      "", "a truth value", "an integer", "a floating-point number", "text", "a list"};
  const auto* other = std::get_if<OtherValue>(&value);
  return other == nullptr ? kNames[value.index()] : other->type;
}

}  // namespace

template <class T>
Result<T> ConfigReader::required(std::string_view name, std::string_view wanted) const {
  const std::string full = key(name);
  const HyperValue* value = parameters_.find(name);
  if (value == nullptr) {
    return Error{Code::kNotFound, parameters_.source + ": " + full + " is missing", full};
  }
  if (const T* found = std::get_if<T>(value)) return *found;
  return invalid(full + " must be " + std::string(wanted) + ", not " + kind_of(*value), full);
}

Result<int32_t> ConfigReader::integer(std::string_view name, int32_t least, int32_t most) const {
  O3_ASSIGN(const int64_t value, required<int64_t>(name, "an integer"));
  if (value < least || value > most) {
    return out_of_range(key(name), value, int64_t{least}, int64_t{most});
  }
  return static_cast<int32_t>(value);
}

Result<int32_t> ConfigReader::integer_or(std::string_view name, int32_t fallback, int32_t least,
                                         int32_t most) const {
  if (!has(name)) return fallback;
  return integer(name, least, most);
}

Result<double> ConfigReader::real(std::string_view name, double least, double most) const {
  O3_ASSIGN(const double value, required<double>(name, "a floating-point number"));
  // Written so that a NaN is refused too.
  if (!(value >= least && value <= most)) return out_of_range(key(name), value, least, most);
  return value;
}

Result<double> ConfigReader::real_or(std::string_view name, double fallback, double least,
                                     double most) const {
  if (!has(name)) return fallback;
  return real(name, least, most);
}

Result<void> ConfigReader::require_number(std::string_view name, double neutral) const {
  const HyperValue* value = parameters_.find(name);
  if (value == nullptr) return {};
  double found = 0.0;
  if (const auto* real = std::get_if<double>(value)) {
    found = *real;
  } else {
    O3_ASSIGN(const int64_t integer, required<int64_t>(name, "a number"));
    found = static_cast<double>(integer);
  }
  if (found == neutral) return {};
  return changes_arithmetic(key(name), number_text(found), number_text(neutral));
}

Result<std::string> ConfigReader::text_or(std::string_view name, std::string_view fallback) const {
  if (!has(name)) return std::string(fallback);
  return required<std::string>(name, "text");
}

Result<bool> ConfigReader::flag_or(std::string_view name, bool fallback) const {
  if (!has(name)) return fallback;
  return required<bool>(name, "true or false");
}

bool ConfigReader::is_array(std::string_view name) const {
  const HyperValue* value = parameters_.find(name);
  return value != nullptr && std::holds_alternative<std::vector<int64_t>>(*value);
}

Result<std::vector<bool>> ConfigReader::truth_values(std::string_view name, int32_t count) const {
  using Numbers = std::vector<int64_t>;
  O3_ASSIGN(const Numbers numbers, required<Numbers>(name, "a list"));
  const std::string full = key(name);
  if (std::ssize(numbers) != count) {
    return invalid(full + " has " + std::to_string(numbers.size()) + " entries for " +
                       std::to_string(count) + " layers",
                   full);
  }
  std::vector<bool> truths;
  for (const int64_t number : numbers) {
    if (number != 0 && number != 1)
      return invalid(full + " holds numbers other than 0 and 1", full);
    truths.push_back(number == 1);
  }
  return truths;
}

}  // namespace o3::model
