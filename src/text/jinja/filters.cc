// SPDX-License-Identifier: Apache-2.0
// Filters of text, numbers and whole values. The others are in
// sequence_filters.cc, ordering_filters.cc and text_filters.cc.
#include "text/jinja/filters.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>

#include "text/jinja/access.h"
#include "text/jinja/call.h"
#include "text/jinja/markup.h"
#include "text/jinja/numbers.h"
#include "text/jinja/operators.h"
#include "text/jinja/print.h"
#include "text/jinja/string_ops.h"
#include "text/jinja/unicode.h"

namespace o3::text::jinja {
namespace {

Result<Value> text_value(Result<TaintedString> text) {
  O3_ASSIGN(TaintedString value, std::move(text));
  return Value(std::move(value));
}

// Markup where the subject is.
Result<Value> like_subject(const Call& call, Result<Value> text) {
  O3_ASSIGN(const Value value, std::move(text));
  return value.with_markup(call.self.is_markup());
}

template <CaseMap map>
Result<Value> filter_case(Call& call) {
  O3_ASSIGN(const StringPtr text, to_string(*call.state, call.self));
  return like_subject(call, text_value(map_case(*call.state, *text, map)));
}

Result<Value> filter_title(Call& call) {
  O3_ASSIGN(const StringPtr text, to_string(*call.state, call.self));
  return text_value(title_words(*call.state, *text));
}

Result<Value> filter_trim(Call& call) {
  O3_ASSIGN(const StringPtr text, to_string(*call.state, call.self));
  O3_ASSIGN(const StringPtr chars, string_argument(call, 0));
  return like_subject(call, text_value(strip(*call.state, *text, chars.get(), Side::kBoth)));
}

Result<Value> filter_string(Call& call) {
  if (call.self.is_string()) return call.self;
  O3_ASSIGN(StringPtr text, to_string(*call.state, call.self));
  return Value(std::move(text));
}

Result<Value> filter_replace(Call& call) {
  O3_ASSIGN(const StringPtr text, to_string(*call.state, call.self));
  O3_ASSIGN(const StringPtr from, to_string(*call.state, *call.arg(0)));
  O3_ASSIGN(const StringPtr to, to_string(*call.state, *call.arg(1)));
  const bool unlimited = call.arg(2) == nullptr || call.arg(2)->is_none();
  int64_t limit = -1;
  if (!unlimited) {
    O3_ASSIGN(limit, int_argument(call, 2, -1));
  }
  return text_value(replace(*call.state, *text, *from, *to, limit));
}

Result<Value> filter_default(Call& call) {
  const bool also_false = flag_argument(call, 1, false);
  const bool missing = call.self.is_undefined() || (also_false && !call.self.truth());
  if (!missing) return call.self;
  return call.arg(0) != nullptr ? *call.arg(0) : Value(TaintedString());
}

// One level of indentation from an int or str argument.
Result<TaintedString> indentation(const Call& call, const Value& width) {
  if (width.is_string()) return width.as_string();
  if (!width.is_integral()) return invalid("an indentation must be an integer or a string");
  const auto count = static_cast<uint64_t>(std::max<int64_t>(width.as_int(), 0));
  O3_TRY(call.charge(count / 16));
  return TaintedString(std::string(count, ' '), Origin::kTemplate);
}

// Bytes of a line before its end, which is one character or CR LF.
size_t without_line_end(std::string_view line) {
  if (line.ends_with("\r\n")) return line.size() - 2;
  const size_t last = line.empty() ? 0 : previous_code_point(line, line.size());
  size_t pos = last;
  return !line.empty() && is_line_end(next_code_point(line, pos)) ? last : line.size();
}

Result<Value> filter_indent(Call& call) {
  if (call.self.is_undefined()) return undefined_error(call.self);
  if (!call.self.is_string()) return invalid("filter 'indent' needs a string");
  O3_ASSIGN(const TaintedString margin,
            indentation(call, call.arg(0) != nullptr ? *call.arg(0) : Value(int64_t{4})));
  const bool first = flag_argument(call, 1, false);
  const bool blank = flag_argument(call, 2, false);
  TaintedString text = call.self.as_string();
  text.append("\n", Origin::kTemplate);  // as jinja2 does, so that an empty text has one line
  O3_ASSIGN(const std::vector<Value> lines, split_lines(*call.state, text, true));
  TaintedString out;
  Origin end = Origin::kTemplate;  // of the line before: whoever ended it, any kind becomes "\n"
  for (size_t i = 0; i < lines.size(); ++i) {
    const TaintedString& line = lines[i].as_string();
    const size_t size = without_line_end(line.view());
    O3_TRY(call.charge(line.copy_cost() + margin.copy_cost()));
    if (i > 0) out.append("\n", end);
    if (i == 0 ? first : (blank || size > 0)) out.append(margin);
    out.append_slice(line, 0, size);
    end = line.origin_at(size);
  }
  return like_subject(call, Value(std::move(out)));
}

Result<Value> filter_int(Call& call) {
  O3_ASSIGN(const int64_t base, int_argument(call, 1, 10));
  const Value otherwise = call.arg(0) != nullptr ? *call.arg(0) : Value(int64_t{0});
  return to_int(call.self, base, otherwise);
}

Result<Value> filter_float(Call& call) {
  if (call.self.is_undefined()) return undefined_error(call.self);
  const std::optional<double> number = call.self.is_string()
                                           ? parse_float(call.self.as_string().view())
                                       : call.self.is_number() || call.self.is_any_int()
                                           ? std::optional<double>(call.self.as_number())
                                           : std::nullopt;
  if (!number) return call.arg(0) != nullptr ? *call.arg(0) : Value(0.0);
  return Value(*number).with_origin(number_origin(call.self));
}

Result<Value> filter_abs(Call& call) {
  const Value& value = call.self;
  if (value.is_undefined()) return undefined_error(value);
  if (value.kind() == Value::Kind::kBigInt) {
    return value.big_digits()[0] == '-' ? negate(value) : value;
  }
  if (!value.is_number()) {
    return invalid("filter 'abs' needs a number, not " + std::string(value.type_name()));
  }
  if (!value.is_integral()) {
    return Value(std::fabs(value.as_number())).with_origin(value.scalar_origin());
  }
  return value.as_int() < 0 ? negate(value) : plus(value);
}

// Python's round(float, digits) is exact in decimal, as printf is.
double round_decimal(double value, int64_t digits) {
  if (!std::isfinite(value) || digits > 300) return value;
  if (digits < 0) {
    const double scale = std::pow(10.0, static_cast<double>(std::max<int64_t>(-400, digits)));
    return std::nearbyint(value * scale) / scale;
  }
  std::array<char, 1024> buffer{};
  const int length =
      std::snprintf(buffer.data(), buffer.size(), "%.*f", static_cast<int>(digits), value);
  return parse_float({buffer.data(), static_cast<size_t>(length)}).value_or(value);
}

// Python's round(int, -digits): to a multiple of a power of ten, ties to the even one.
Result<Value> round_whole(const Value& value, int64_t digits) {
  const int64_t number = value.as_int();
  if (digits < -18) return Value(int64_t{0}).with_origin(value.scalar_origin());
  int64_t unit = 1;
  for (int64_t i = digits; i < 0; ++i) unit *= 10;
  const int64_t rest = number % unit;
  const int64_t down = number - rest;
  const int64_t twice = rest < 0 ? -rest * 2 : rest * 2;
  const bool away = twice > unit || (twice == unit && (down / unit) % 2 != 0);
  const int64_t step = !away ? 0 : rest < 0 ? -unit : unit;
  int64_t out = 0;
  if (__builtin_add_overflow(down, step, &out)) {
    return unsupported("filter 'round': the result is beyond 64 bits");
  }
  return Value(out).with_origin(value.scalar_origin());
}

Result<Value> filter_round(Call& call) {
  if (call.self.is_undefined()) return undefined_error(call.self);
  O3_ASSIGN(const int64_t digits, int_argument(call, 0, 0));
  if (call.self.kind() == Value::Kind::kBigInt && call.arg(1) == nullptr && digits >= 0) {
    return call.self;
  }
  if (!call.self.is_number()) return invalid("filter 'round' needs a number of at most 64 bits");
  O3_ASSIGN(const StringPtr method, string_argument(call, 1));
  const std::string_view how = method == nullptr ? "common" : method->view();
  if (how != "common" && how != "ceil" && how != "floor") {
    return invalid("filter 'round': method must be common, ceil or floor");
  }
  const Origin origin = call.self.scalar_origin();
  if (how == "common") {
    if (call.self.is_integral() && digits >= 0) return plus(call.self);
    if (call.self.is_integral()) return round_whole(call.self, digits);
    return Value(round_decimal(call.self.as_number(), digits)).with_origin(origin);
  }
  const double scale = std::pow(10.0, static_cast<double>(digits));
  const double scaled = call.self.as_number() * scale;
  return Value((how == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale)
      .with_origin(origin);
}

Result<Value> filter_safe(Call& call) {
  O3_ASSIGN(const Value text, filter_string(call));
  return text.with_markup();
}

Result<Value> filter_escape(Call& call) {
  O3_ASSIGN(const Value text, filter_string(call));
  O3_ASSIGN(StringPtr html, as_html(*call.state, text));
  return Value(std::move(html)).with_markup();
}

Result<void> read_separators(const Value& value, JsonFormat& format) {
  O3_CHECK(value.is_sequence(), "the caller looked");
  const std::vector<Value>& items = value.as_sequence().items;
  if (items.size() != 2 || !items[0].is_string() || !items[1].is_string()) {
    return invalid("tojson: separators must be a pair of strings");
  }
  format.item_separator = items[0].as_string();
  format.key_separator = items[1].as_string();
  return {};
}

Result<Value> filter_tojson(Call& call) {
  JsonFormat format;
  format.ensure_ascii = flag_argument(call, 0, false);
  format.sort_keys = flag_argument(call, 3, false);
  if (const Value* indent = call.arg(1); indent != nullptr && !indent->is_none()) {
    O3_ASSIGN(format.indent, indentation(call, *indent));
    format.item_separator = TaintedString(",", Origin::kTemplate);
  }
  if (const Value* separators = call.arg(2); separators != nullptr && !separators->is_none()) {
    if (!separators->is_sequence()) return invalid("tojson: separators must be a pair of strings");
    O3_TRY(read_separators(*separators, format));
  }
  return text_value(to_json(*call.state, call.self, format));
}

// A method or attribute, never a member.
Result<Value> filter_attr(Call& call) {
  if (!call.arg(0)->is_string()) return invalid("filter 'attr' needs a name that is a string");
  O3_ASSIGN(const StringPtr name, to_string(*call.state, *call.arg(0)));
  if (call.self.is_undefined()) return undefined_error(call.self);
  if (call.self.is_dict() && find_method(call.self, name->view()) == nullptr) {
    return Value::undefined("'dict object' has no attribute '" + name->text() + "'");
  }
  return get_attribute(*call.state, call.self, name->view());
}

constexpr auto kFilters = std::to_array<Builtin>({
    {"abs", "", 0, &filter_abs},
    {"attr", "name", 1, &filter_attr},
    {"capitalize", "", 0, &filter_case<CaseMap::kCapitalize>},
    {"d", "default_value boolean", 0, &filter_default},
    {"default", "default_value boolean", 0, &filter_default},
    {"e", "", 0, &filter_escape},
    {"escape", "", 0, &filter_escape},
    {"float", "default", 0, &filter_float},
    {"indent", "width first blank", 0, &filter_indent},
    {"int", "default base", 0, &filter_int},
    {"lower", "", 0, &filter_case<CaseMap::kLower>},
    {"replace", "old new count", 2, &filter_replace},
    {"round", "precision method", 0, &filter_round},
    {"safe", "", 0, &filter_safe},
    {"string", "", 0, &filter_string},
    {"title", "", 0, &filter_title},
    {"tojson", "ensure_ascii indent separators sort_keys", 0, &filter_tojson},
    {"trim", "chars", 0, &filter_trim},
    {"upper", "", 0, &filter_case<CaseMap::kUpper>},
});

}  // namespace

const Builtin* find_filter(std::string_view name) noexcept {
  const Builtin* found = find_in(kFilters, name);
  if (found == nullptr) found = find_sequence_filter(name);
  if (found == nullptr) found = find_ordering_filter(name);
  return found != nullptr ? found : find_text_filter(name);
}

}  // namespace o3::text::jinja
