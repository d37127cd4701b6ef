// SPDX-License-Identifier: Apache-2.0
// Numbers on the command line, read whole or not at all: "", "1x", "-1" for a count and "nan" are
// usage errors, where CLI11's own conversion takes some of them for 0 or wraps them around.
#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace o3::app {

// Decimal, the whole text; false when it is none or out of T's range. Reals are finite.
template <class T>
bool read_number(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  if constexpr (std::is_floating_point_v<T>) return std::isfinite(out);
  return true;
}

// As read_number() reads it.
template <class T>
std::string number_text(T value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

// An option that sets `target` to a number of [least, most]; help shows both and the default,
// unless that lies outside (then it stands for "not given").
template <class T>
CLI::Option* add_number(CLI::App& command, const std::string& name, T& target, T least, T most,
                        const std::string& help) {
  const std::string range = number_text(least) + " to " + number_text(most);
  const auto reject = [least, most, range](const std::string& given) -> std::string {
    T value{};
    if (read_number(given, value) && value >= least && value <= most) return {};
    return "takes a number of " + range + ", not '" + given + "'";
  };
  const auto take = [&target](const std::string& given) { read_number(given, target); };
  auto* option = command.add_option_function<std::string>(name, take, help);
  option->type_name(range)->check(reject);
  if (target >= least && target <= most) option->default_str(number_text(target));
  return option;
}

}  // namespace o3::app
