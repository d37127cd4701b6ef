// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/numbers.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include "text/jinja/operators.h"
#include "text/jinja/unicode.h"
#include "text/jinja/wide_int.h"

namespace o3::text::jinja {
namespace {

// ASCII text without blanks around it, digits of other scripts as ASCII ones; nothing when other
// characters remain.
std::optional<std::string> ascii_number(std::string_view text) {
  std::string out;
  for (size_t pos = 0; pos < text.size();) {
    const char32_t c = next_code_point(text, pos);
    if (is_space(c)) {
      out += ' ';
    } else if (const int digit = decimal_digit(c); digit >= 0) {
      out += static_cast<char>('0' + digit);
    } else if (c < 0x80) {
      out += static_cast<char>(c);
    } else {
      return std::nullopt;
    }
  }
  const size_t begin = out.find_first_not_of(' ');
  if (begin == std::string::npos) return std::nullopt;
  return out.substr(begin, out.find_last_not_of(' ') - begin + 1);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Python allows one underscore between two digits (`also_first`: and before the first, as behind a
// base prefix).
bool drop_underscores(std::string& text, bool letters, bool also_first) {
  const auto digit = [&](char c) {
    return is_digit(c) || (letters && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')));
  };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
      continue;
    }
    const bool before = i == 0 ? also_first : digit(text[i - 1]);
    if (!before || i + 1 == text.size() || !digit(text[i + 1])) return false;
  }
  text = std::move(out);
  return true;
}

struct ParsedInt {
  bool valid = false;
  std::string digits = {};  // when the value is beyond 64 bits, in base 10
  bool too_large = false;   // the same in another base
  int64_t value = 0;
};

// The base that a prefix such as 0x asks for, or 0.
int prefix_base(std::string_view digits) {
  if (digits.size() < 2 || digits[0] != '0') return 0;
  switch (digits[1]) {
    case 'x':
    case 'X':
      return 16;
    case 'o':
    case 'O':
      return 8;
    case 'b':
    case 'B':
      return 2;
    default:
      return 0;
  }
}

ParsedInt parse_int(std::string_view text, int64_t base) {
  const std::optional<std::string> ascii = ascii_number(text);
  if (!ascii) return {};
  const bool negative = ascii->front() == '-';
  std::string digits = ascii->substr(negative || ascii->front() == '+' ? 1 : 0);
  const int prefix = prefix_base(digits);
  const bool has_prefix = prefix != 0 && (base == 0 || base == prefix);
  if (has_prefix) digits.erase(0, 2);
  const int radix = has_prefix ? prefix : base == 0 ? 10 : static_cast<int>(base);
  if (!drop_underscores(digits, true, has_prefix) || digits.empty()) return {};
  if (base == 0 && !has_prefix && digits[0] == '0' &&
      digits.find_first_not_of('0') != std::string::npos) {
    return {};
  }
  digits.insert(0, negative ? "-" : "");
  ParsedInt out;
  const char* end = digits.data() + digits.size();
  if (digits.size() > (negative ? 1u : 0u) && (digits[negative ? 1 : 0] == '-')) return {};
  const auto result = std::from_chars(digits.data(), end, out.value, radix);
  const bool beyond = result.ec == std::errc::result_out_of_range;
  out.valid = result.ptr == end && (result.ec == std::errc() || beyond);
  if (beyond && radix == 10) out.digits = digits;
  out.too_large = beyond && radix != 10;
  return out;
}

Result<Value> truncate(double number, const Value& otherwise, Origin origin) {
  if (std::isnan(number)) return otherwise;
  if (std::isinf(number)) return invalid("cannot convert float infinity to integer");
  if (std::fabs(number) < 9223372036854775808.0) {
    return Value(static_cast<int64_t>(number)).with_origin(origin);
  }
  std::array<char, 512> buffer{};  // a double has at most 309 digits before the point
  std::snprintf(buffer.data(), buffer.size(), "%.0f", number);
  O3_ASSIGN(const Value whole, integer_from_digits(buffer.data()));
  return whole.with_origin(origin);
}

}  // namespace

std::optional<double> parse_float(std::string_view text) {
  std::optional<std::string> ascii = ascii_number(text);
  if (!ascii || !drop_underscores(*ascii, false, false)) return std::nullopt;
  std::string_view rest = *ascii;
  const bool negative = rest.front() == '-';
  if (negative || rest.front() == '+') rest.remove_prefix(1);
  if (rest.empty() || rest.front() == '-') return std::nullopt;
  double value = 0;
  const char* end = rest.data() + rest.size();
  const auto result = std::from_chars(rest.data(), end, value);
  if (result.ptr != end || result.ec == std::errc::invalid_argument) return std::nullopt;
  if (rest.find('(') != std::string_view::npos) return std::nullopt;  // C's nan(...)
  if (result.ec == std::errc::result_out_of_range) {
    value =
        std::strtod(std::string(rest).c_str(), nullptr);  // infinity or a tiny number, as Python
  }
  return negative ? -value : value;
}

Origin number_origin(const Value& value) {
  if (!value.is_string()) return value.scalar_origin();
  return value.as_string().any_content() ? Origin::kContent : Origin::kTemplate;
}

Result<Value> to_int(const Value& value, int64_t base, const Value& otherwise) {
  if (value.is_undefined()) return undefined_error(value);
  const Origin origin = number_origin(value);
  if (value.kind() == Value::Kind::kBigInt) return value;
  if (value.is_integral()) return Value(value.as_int()).with_origin(origin);
  if (value.kind() == Value::Kind::kFloat) return truncate(value.as_number(), otherwise, origin);
  if (!value.is_string()) return otherwise;
  if (base == 0 || (base >= 2 && base <= 36)) {
    const ParsedInt parsed = parse_int(value.as_string().view(), base);
    if (parsed.too_large) {
      return unsupported("integers beyond 64 bits are supported in base 10 only");
    }
    if (parsed.valid && !parsed.digits.empty()) {
      O3_ASSIGN(const Value whole, integer_from_digits(parsed.digits));
      return whole.with_origin(origin);
    }
    if (parsed.valid) return Value(parsed.value).with_origin(origin);
  }
  const std::optional<double> number = parse_float(value.as_string().view());
  // Unlike a float value, text such as "inf" gives the default.
  if (!number || std::isinf(*number)) return otherwise;
  return truncate(*number, otherwise, origin);
}

}  // namespace o3::text::jinja
