// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/format_spec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "text/jinja/print.h"
#include "text/jinja/unicode.h"
#include "text/unicode/utf8.h"

namespace o3::text::jinja {
namespace {

constexpr int64_t kMaxPrecision = 1000;  // decimals that printf writes into a fixed buffer

bool is_align(char c) {
  return c == '<' || c == '>' || c == '^' || c == '=';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

Error bad_spec(std::string_view text) {
  return invalid("Invalid format specifier '" + std::string(text) + "'");
}

Result<std::optional<int64_t>> read_digits(std::string_view text, size_t& pos) {
  const size_t begin = pos;
  int64_t value = 0;
  while (pos < text.size() && is_digit(text[pos])) {
    value = value * 10 + (text[pos++] - '0');
    if (value > INT32_MAX) return invalid("Too many decimal digits in format string");
  }
  return pos == begin ? std::optional<int64_t>() : std::optional<int64_t>(value);
}

// Digits in threes (fours for other bases) from the right.
std::string grouped(std::string_view digits, char separator, size_t size) {
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % size == 0) out += separator;
    out += digits[i];
  }
  return out;
}

std::string printed(const char* format, int64_t precision, double value) {
  std::array<char, 2048> buffer{};
  const int length =
      std::snprintf(buffer.data(), buffer.size(), format, static_cast<int>(precision), value);
  return std::string(buffer.data(), static_cast<size_t>(std::max(length, 0)));
}

// No type but a precision: as g, but never without a decimal.
std::string general_with_point(double value, int64_t precision) {
  precision = std::max<int64_t>(precision, 1);
  const std::string scientific = printed("%.*e", precision - 1, value);
  const int exponent = std::stoi(scientific.substr(scientific.find('e') + 1));
  if (exponent >= -4 && exponent < precision - 1) {
    std::string text = printed("%.*g", precision, value);
    if (text.find('.') == std::string::npos) text += ".0";
    return text;
  }
  const size_t e = scientific.find('e');
  std::string mantissa = scientific.substr(0, e);
  if (mantissa.find('.') != std::string::npos) {
    mantissa.erase(mantissa.find_last_not_of('0') + 1);
    if (mantissa.back() == '.') mantissa.pop_back();
  }
  return mantissa + scientific.substr(e);
}

// The magnitude of a number that is not negative, without grouping.
Result<std::string> float_digits(double value, const FormatSpec& spec) {
  const char type = spec.type == 'n' ? 'g' : spec.type;
  const bool upper = type == 'E' || type == 'F' || type == 'G';
  std::string text;
  if (std::isnan(value) || std::isinf(value)) {
    text = std::isnan(value) ? "nan" : "inf";
  } else if (type == 0 && !spec.precision) {
    text = float_repr(value);
  } else if (type == 0) {
    text = general_with_point(value, *spec.precision);
  } else {
    const int64_t precision = spec.precision.value_or(6);
    const char lower = type == '%' ? 'f' : static_cast<char>(type | 0x20);
    const std::string format = std::string(spec.alternate ? "%#.*" : "%.*") + lower;
    text = printed(format.c_str(), precision, type == '%' ? value * 100 : value);
  }
  if (upper) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  }
  return type == '%' ? text + "%" : text;
}

std::string radix_digits(uint64_t value, unsigned base, bool upper) {
  const std::string_view digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string out;
  do {
    out.insert(out.begin(), digits[value % base]);
    value /= base;
  } while (value != 0);
  return out;
}

unsigned base_of(char type) {
  switch (type) {
    case 'b':
      return 2;
    case 'o':
      return 8;
    case 'x':
    case 'X':
      return 16;
    default:
      return 10;
  }
}

// Sign, prefix and digits of a number, to be padded: with '=' between head and tail.
struct NumberText {
  std::string head;
  std::string tail;
};

std::string sign_of(bool negative, const FormatSpec& spec) {
  if (negative) return "-";
  return spec.sign == '-' ? "" : std::string(1, spec.sign);
}

// The digits of an integer in the specification's base, without its sign.
Result<std::string> integer_digits(const Value& value, const FormatSpec& spec) {
  const unsigned base = base_of(spec.type);
  if (value.kind() == Value::Kind::kBigInt) {
    if (base != 10) return unsupported("integers beyond 64 bits are supported in base 10 only");
    const std::string& digits = value.big_digits();
    return digits.substr(digits[0] == '-' ? 1 : 0);
  }
  const int64_t number = value.as_int();
  return radix_digits(
      number < 0 ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number), base,
      spec.type == 'X');
}

Result<NumberText> number_text(const Value& value, const FormatSpec& spec) {
  NumberText out;
  const bool integral = value.is_integral() || value.is_any_int();
  if (integral && std::string_view("eEfFgG%").find(spec.type) == std::string_view::npos) {
    if (spec.precision) return invalid("Precision not allowed in integer format specifier");
    const unsigned base = base_of(spec.type);
    out.head = sign_of(value.as_number() < 0, spec);
    if (spec.alternate && base != 10) out.head += std::string("0") + spec.type;
    O3_ASSIGN(out.tail, integer_digits(value, spec));
    if (spec.grouping != 0) out.tail = grouped(out.tail, spec.grouping, base == 10 ? 3 : 4);
    return out;
  }
  const double number = value.as_number();
  out.head = sign_of(std::signbit(number) && !std::isnan(number), spec);
  O3_ASSIGN(out.tail, float_digits(std::fabs(number), spec));
  if (spec.grouping != 0) {
    const size_t whole = std::min(out.tail.find_first_not_of("0123456789"), out.tail.size());
    out.tail = grouped(out.tail.substr(0, whole), spec.grouping, 3) + out.tail.substr(whole);
  }
  return out;
}

Result<void> check_number_spec(const Value& value, const FormatSpec& spec) {
  const bool integral = value.is_integral() || value.is_any_int();
  const std::string_view types =
      integral ? std::string_view("bcdoxXneEfFgG%") : std::string_view("neEfFgG%");
  if (spec.type != 0 && types.find(spec.type) == std::string_view::npos) {
    return invalid(std::string("Unknown format code '") + spec.type + "' for object of type '" +
                   std::string(value.type_name()) + "'");
  }
  if (spec.grouping == ',' && (base_of(spec.type) != 10 || spec.type == 'c')) {
    return invalid(std::string("Cannot specify ',' with '") + spec.type + "'.");
  }
  if (spec.precision.value_or(0) > kMaxPrecision) {
    return unsupported("format: a precision beyond 1000 is not supported");
  }
  return {};
}

Result<TaintedString> format_number(RenderState& state, const Value& value, FormatSpec spec) {
  // The number behind a %c may be counted from a client's text: the character counts as such.
  const bool content = spec.origin == Origin::kContent || spec.type == 'c';
  const Origin origin = content ? Origin::kContent : value.scalar_origin();
  O3_TRY(check_number_spec(value, spec));
  O3_TRY(state.charge(8 + static_cast<uint64_t>(spec.precision.value_or(0))));
  NumberText text;
  if (spec.type == 'c') {
    if (!value.is_integral()) return invalid("%c arg not in range(0x110000)");
    const int64_t code = value.as_int();
    if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
      return invalid("%c arg not in range(0x110000)");
    }
    append_utf8(static_cast<char32_t>(code), text.tail);
  } else {
    O3_ASSIGN(text, number_text(value, spec));
  }
  // Zeros between sign and digits are part of the number, and take separators with them.
  const size_t length = text.head.size() + count_code_points(text.tail);
  const auto width = static_cast<size_t>(spec.width.value_or(0));
  if (spec.align == '=' && length < width) {
    O3_TRY(state.charge(1 + (width - length) / 4));
    if (spec.grouping != 0 && spec.fill.view() == "0") {
      return unsupported("format: zeros before grouped digits are not supported");
    }
    TaintedString out(text.head, origin);
    for (size_t i = length; i < width; ++i) out.append(spec.fill);
    out.append(text.tail, origin);
    return out;
  }
  if (spec.align == 0 || spec.align == '=') spec.align = '>';
  spec.precision.reset();
  return format_text(state, TaintedString(text.head + text.tail, origin), spec);
}

}  // namespace

Result<FormatSpec> parse_format_spec(const TaintedString& written) {
  const std::string_view text = written.view();
  FormatSpec spec;
  if (written.any_content()) spec.fill = TaintedString(" ", Origin::kContent);
  size_t pos = 0;
  bool has_fill = false;
  const size_t first = text.empty() ? 0 : utf8_length(text[0]);
  if (first < text.size() && is_align(text[first])) {
    spec.fill = written.slice(0, first);
    spec.align = text[first];
    has_fill = true;
    pos = first + 1;
  } else if (!text.empty() && is_align(text[0])) {
    spec.align = text[pos++];
  }
  if (written.slice(has_fill ? first : 0, text.size()).any_content()) {
    spec.origin = Origin::kContent;
  }
  const auto at = [&](char c) { return pos < text.size() && text[pos] == c; };
  if (at('+') || at('-') || at(' ')) spec.sign = text[pos++];
  if (at('#')) {
    spec.alternate = true;
    ++pos;
  }
  if (at('0')) {
    if (!has_fill) {
      spec.fill = written.slice(pos, pos + 1);
      if (spec.align == 0) spec.align = '=';
    }
    ++pos;
  }
  O3_ASSIGN(spec.width, read_digits(text, pos));
  if (at(',') || at('_')) spec.grouping = text[pos++];
  if (at('.')) {
    ++pos;
    O3_ASSIGN(spec.precision, read_digits(text, pos));
    if (!spec.precision) return invalid("Format specifier missing precision");
  }
  if (pos < text.size() && static_cast<unsigned char>(text[pos]) < 0x80) spec.type = text[pos++];
  if (pos != text.size()) return bad_spec(text);
  return spec;
}

Result<TaintedString> format_text(RenderState& state, const TaintedString& text,
                                  const FormatSpec& spec) {
  size_t end = text.size();
  auto length = static_cast<int64_t>(count_code_points(text.view()));
  if (spec.precision && *spec.precision < length) {
    length = *spec.precision;
    end = 0;
    for (int64_t i = 0; i < length; ++i) end += utf8_length(text.text()[end]);
  }
  const int64_t room = std::max<int64_t>(std::max<int64_t>(spec.width.value_or(0), 0) - length, 0);
  O3_TRY(state.charge(text.copy_cost() + static_cast<uint64_t>(room) / 4));
  const int64_t left = spec.align == '>' ? room : spec.align == '^' ? room / 2 : 0;
  TaintedString out;
  for (int64_t i = 0; i < left; ++i) out.append(spec.fill);
  out.append_slice(text, 0, end);
  for (int64_t i = left; i < room; ++i) out.append(spec.fill);
  return out;
}

Result<TaintedString> format_value(RenderState& state, const Value& value, const FormatSpec& spec) {
  if (value.is_number() || value.is_any_int()) return format_number(state, value, spec);
  if (!value.is_string()) {
    return invalid("unsupported format string passed to " + std::string(value.type_name()) +
                   ".__format__");
  }
  if (spec.type != 0 && spec.type != 's') {
    return invalid(std::string("Unknown format code '") + spec.type + "' for object of type 'str'");
  }
  FormatSpec plain = spec;
  const bool zeros = spec.align == '=' && spec.fill.view() == "0";  // 0 before the width
  if ((spec.align == '=' && !zeros) || spec.sign != '-' || spec.alternate || spec.grouping != 0) {
    return invalid("this format specifier is not allowed with a string");
  }
  if (zeros) plain.align = '<';
  return format_text(state, value.as_string(), plain);
}

}  // namespace o3::text::jinja
