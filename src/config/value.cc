// SPDX-License-Identifier: Apache-2.0
#include "config/value.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace o3::config {
namespace {

struct Unit {
  std::string_view name;
  int64_t scale;
};

// The first row whose scale divides the value is the one show() uses.
constexpr std::array kByteUnits{
    Unit{"TiB", int64_t{1} << 40}, Unit{"GiB", 1 << 30},      Unit{"MiB", 1 << 20},
    Unit{"KiB", 1 << 10},          Unit{"TB", 1000000000000}, Unit{"GB", 1000000000},
    Unit{"MB", 1000000},           Unit{"KB", 1000},          Unit{"B", 1},
};
constexpr std::array kTimeUnits{Unit{"h", 3600000}, Unit{"m", 60000}, Unit{"s", 1000},
                                Unit{"ms", 1}};

std::span<const Unit> units_of(Kind kind) {
  if (kind == Kind::kBytes) return kByteUnits;
  if (kind == Kind::kMillis) return kTimeUnits;
  return {};
}

std::string number(double value) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

std::string with_unit(Kind kind, int64_t value) {
  for (const Unit& unit : units_of(kind)) {
    if (value != 0 && value % unit.scale == 0) {
      return std::to_string(value / unit.scale) + std::string(unit.name);
    }
  }
  return std::to_string(value) + (kind == Kind::kMillis ? "ms" : "");
}

std::string bound_text(Kind kind, double bound) {
  if (kind == Kind::kReal) return number(bound);
  return with_unit(kind, static_cast<int64_t>(bound));
}

Error refused(const Setting& setting, std::string_view text) {
  std::string message = "must be " + allowed(setting);
  if (!setting.secret) message += ", not \"" + std::string(text.substr(0, 80)) + "\"";
  return invalid(std::move(message));
}

std::optional<int64_t> whole(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "64KiB" -> 65536. A plain number is bytes; a time must say its unit, because "10" is as often
// meant as seconds as it is as milliseconds.
std::optional<int64_t> quantity(Kind kind, std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto count = whole(text.substr(0, digits));
  std::string_view unit = text.substr(digits);
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  if (!count) return std::nullopt;
  if (unit.empty()) return kind == Kind::kBytes ? count : std::nullopt;
  for (const Unit& known : units_of(kind)) {
    int64_t scaled = 0;
    if (unit == known.name && !__builtin_mul_overflow(*count, known.scale, &scaled)) return scaled;
  }
  return std::nullopt;
}

std::optional<double> real(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

bool inside(const Bounds& bounds, double value) {
  return value >= bounds.min && value <= bounds.max;
}

std::optional<Value> convert(const Setting& setting, std::string_view text) {
  switch (setting.kind) {
    case Kind::kFlag:
      if (text == "true") return Value(true);
      if (text == "false") return Value(false);
      return std::nullopt;
    case Kind::kReal: {
      const auto value = real(text);
      if (!value || !inside(setting.bounds, *value)) return std::nullopt;
      return Value(*value);
    }
    case Kind::kInt:
    case Kind::kBytes:
    case Kind::kMillis: {
      const auto value = setting.kind == Kind::kInt ? whole(text) : quantity(setting.kind, text);
      if (!value || !inside(setting.bounds, static_cast<double>(*value))) return std::nullopt;
      return Value(*value);
    }
    case Kind::kText:
      if (!inside(setting.bounds, static_cast<double>(text.size()))) return std::nullopt;
      return Value(std::string(text));
    case Kind::kList:
      return Value(std::vector<std::string>{std::string(text)});
  }
  return std::nullopt;
}

}  // namespace

Result<Value> parse_value(const Setting& setting, std::string_view text) {
  if (auto value = convert(setting, text)) return *std::move(value);
  return refused(setting, text);
}

Result<void> check_count(const Setting& setting, size_t items) {
  if (inside(setting.bounds, static_cast<double>(items))) return {};
  return invalid("must have " + allowed(setting) + ", not " + std::to_string(items));
}

std::string allowed(const Setting& setting) {
  if (setting.kind == Kind::kFlag) return "true or false";
  std::string range = bound_text(setting.kind, setting.bounds.min) + ".." +
                      bound_text(setting.kind, setting.bounds.max);
  switch (setting.kind) {
    case Kind::kInt:
      return "a whole number in " + range;
    case Kind::kReal:
      return "a number in " + range;
    case Kind::kText:
      return "a text of " + range + " bytes";
    case Kind::kBytes:
      return "a size in " + range + " (KiB, MiB, GiB; KB, MB, GB)";
    case Kind::kMillis:
      return "a time in " + range + " with its unit (ms, s, m, h)";
    case Kind::kList:
      return range + " items";
    case Kind::kFlag:
      break;
  }
  return range;
}

std::string show(const Setting& setting, const Value& value) {
  if (setting.secret) return "(secret)";
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* count = std::get_if<int64_t>(&value)) return with_unit(setting.kind, *count);
  if (const auto* amount = std::get_if<double>(&value)) return number(*amount);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  std::string joined;
  for (const std::string& item : std::get<std::vector<std::string>>(value)) {
    joined += (joined.empty() ? "" : ", ") + item;
  }
  return joined;
}

}  // namespace o3::config
