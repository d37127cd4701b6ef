// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/wide_int.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <compare>
#include <limits>
#include <optional>
#include <string>

namespace o3::text::jinja {
namespace {

constexpr size_t kMaxDigits = 4300;

__extension__ using Wide = __int128;

Error too_wide() {
  return unsupported("arithmetic with integers beyond 128 bits is not supported");
}

std::optional<Wide> read_wide(std::string_view digits) {
  const bool negative = digits.starts_with('-');
  Wide value = 0;
  for (const char c : digits.substr(negative ? 1 : 0)) {
    const Wide digit = negative ? '0' - c : c - '0';
    if (__builtin_mul_overflow(value, Wide{10}, &value)) return std::nullopt;
    if (__builtin_add_overflow(value, digit, &value)) return std::nullopt;
  }
  return value;
}

std::optional<Wide> wide(const Value& value) {
  if (value.is_integral()) return Wide{value.as_int()};
  return read_wide(value.big_digits());
}

Result<Value> from_wide(Wide value) {
  if (value >= std::numeric_limits<int64_t>::min() &&
      value <= std::numeric_limits<int64_t>::max()) {
    return Value(static_cast<int64_t>(value));
  }
  std::string digits;
  for (Wide rest = value; rest != 0; rest /= 10) {
    const int digit = static_cast<int>(rest % 10);
    digits += static_cast<char>('0' + (digit < 0 ? -digit : digit));
  }
  if (value < 0) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return Value::big_int(std::move(digits));
}

Result<Value> wide_power(Wide base, Wide exponent) {
  Wide result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return too_wide();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return too_wide();
  }
  return from_wide(result);
}

Result<Value> wide_divmod(BinaryOp op, Wide a, Wide b) {
  if (b == 0) return invalid("integer division or modulo by zero");
  if (b == -1) {
    Wide out = 0;
    if (op == BinaryOp::kMod) return Value(int64_t{0});
    if (__builtin_sub_overflow(Wide{0}, a, &out)) return too_wide();
    return from_wide(out);
  }
  const bool adjust = a % b != 0 && (a < 0) != (b < 0);  // Python rounds towards -infinity
  return from_wide(op == BinaryOp::kFloorDiv ? a / b - (adjust ? 1 : 0) : a % b + (adjust ? b : 0));
}

}  // namespace

Result<Value> integer_from_digits(std::string_view digits) {
  const bool negative = digits.starts_with('-');
  std::string_view rest = digits.substr(negative ? 1 : 0);
  rest.remove_prefix(std::min(rest.find_first_not_of('0'), rest.size()));
  if (rest.empty()) return Value(int64_t{0});
  if (rest.size() > kMaxDigits) {
    return unsupported("integers of more than 4300 digits are not supported");
  }
  const std::string canonical = (negative ? "-" : "") + std::string(rest);
  int64_t value = 0;
  const auto result = std::from_chars(canonical.data(), canonical.data() + canonical.size(), value);
  if (result.ec == std::errc()) return Value(value);
  return Value::big_int(canonical);
}

Result<Value> wide_arithmetic(BinaryOp op, const Value& left, const Value& right) {
  const std::optional<Wide> a = wide(left);
  const std::optional<Wide> b = wide(right);
  if (!a || !b) return too_wide();
  Wide out = 0;
  switch (op) {
    case BinaryOp::kAdd:
      if (__builtin_add_overflow(*a, *b, &out)) return too_wide();
      return from_wide(out);
    case BinaryOp::kSub:
      if (__builtin_sub_overflow(*a, *b, &out)) return too_wide();
      return from_wide(out);
    case BinaryOp::kMul:
      if (__builtin_mul_overflow(*a, *b, &out)) return too_wide();
      return from_wide(out);
    case BinaryOp::kFloorDiv:
    case BinaryOp::kMod:
      return wide_divmod(op, *a, *b);
    case BinaryOp::kPow:
      if (*b >= 0) return wide_power(*a, *b);
      break;
    case BinaryOp::kDiv:
      break;
  }
  return unsupported("fractions of integers beyond 64 bits are not supported");
}

std::partial_ordering wide_order(const Value& a, const Value& b) {
  const auto is_big = [](const Value& value) { return value.kind() == Value::Kind::kBigInt; };
  if (!is_big(a) || !is_big(b)) {
    return a.as_number() <=> b.as_number();  // the other fits 64 bits or is a double itself
  }
  const std::string& left = a.big_digits();
  const std::string& right = b.big_digits();
  const bool negative = left[0] == '-';
  if (negative != (right[0] == '-')) {
    return negative ? std::partial_ordering::less : std::partial_ordering::greater;
  }
  const auto size = left.size() <=> right.size();
  const std::strong_ordering ordering = std::is_neq(size) ? size : left <=> right;
  if (std::is_eq(ordering)) return std::partial_ordering::equivalent;
  return std::is_lt(ordering) != negative ? std::partial_ordering::less
                                          : std::partial_ordering::greater;
}

Value wide_negated(const Value& value) {
  const std::string& digits = value.big_digits();
  const std::string other = digits[0] == '-' ? digits.substr(1) : "-" + digits;
  Result<Value> out = integer_from_digits(other);  // -9223372036854775808 fits
  return out.ok() ? (*out).with_origin(value.scalar_origin()) : value;
}

}  // namespace o3::text::jinja
