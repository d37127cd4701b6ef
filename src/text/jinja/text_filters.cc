// SPDX-License-Identifier: Apache-2.0
// Filters that write, measure and shorten text. Those that map its characters are in filters.cc.
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>

#include "text/jinja/attribute_path.h"
#include "text/jinja/filters.h"
#include "text/jinja/format.h"
#include "text/jinja/format_spec.h"
#include "text/jinja/markup.h"
#include "text/jinja/operators.h"
#include "text/jinja/print.h"
#include "text/jinja/string_ops.h"
#include "text/jinja/unicode.h"

namespace o3::text::jinja {
namespace {

Result<Value> filter_center(Call& call) {
  O3_ASSIGN(StringPtr text, to_string(*call.state, call.self));
  Call inner{.state = call.state, .self = Value(std::move(text)), .positional = {}, .named = {}};
  inner.positional.push_back(call.arg(0) != nullptr ? *call.arg(0) : Value(int64_t{80}));
  return invoke(*find_method(inner.self, "center"), inner, "filter");
}

Result<Value> filter_format(Call& call) {
  O3_ASSIGN(StringPtr text, to_string(*call.state, call.self));
  const Value format = Value(std::move(text)).with_markup(call.self.is_markup());
  if (call.named.empty()) {
    O3_ASSIGN(const Value tuple, make_sequence(Sequence::Flavour::kTuple, call.positional));
    return percent_format(*call.state, format, tuple);
  }
  if (!call.positional.empty()) {
    return invalid("can't handle positional and keyword arguments at the same time");
  }
  std::vector<std::pair<Value, Value>> members;
  members.reserve(call.named.size());
  for (const auto& [name, value] : call.named) members.emplace_back(call.name_value(name), value);
  O3_ASSIGN(const Value mapping, make_dict(std::move(members)));
  return percent_format(*call.state, format, mapping);
}

Result<Value> filter_forceescape(Call& call) {
  O3_ASSIGN(const StringPtr text, to_string(*call.state, call.self));
  O3_ASSIGN(TaintedString html, escape_html(*call.state, *text));
  return Value(std::move(html)).with_markup();
}

Result<Value> filter_truncate(Call& call) {
  if (!call.self.is_string()) return invalid("filter 'truncate' needs a string");
  O3_ASSIGN(const int64_t length, int_argument(call, 0, 255));
  O3_ASSIGN(StringPtr end, string_argument(call, 2));
  if (end == nullptr) end = std::make_shared<const TaintedString>("...", Origin::kTemplate);
  const bool default_leeway = call.arg(3) == nullptr || call.arg(3)->is_none();
  int64_t leeway = 5;
  if (!default_leeway) {
    O3_ASSIGN(leeway, int_argument(call, 3, 5));
  }
  const auto end_length = static_cast<int64_t>(count_code_points(end->view()));
  if (length < end_length) return invalid("truncate: the length is less than that of the end");
  if (leeway < 0) return invalid("truncate: the leeway is negative");
  const TaintedString& text = call.self.as_string();
  O3_TRY(call.charge(text.copy_cost()));
  const auto size = static_cast<int64_t>(count_code_points(text.view()));
  if (size - leeway <= length) return call.self;
  size_t cut = 0;
  for (int64_t i = 0; i < length - end_length; ++i) cut += utf8_length(text.text()[cut]);
  if (!flag_argument(call, 1, false)) {
    const size_t blank = text.view().substr(0, cut).rfind(' ');
    if (blank != std::string_view::npos) cut = blank;
  }
  TaintedString out = text.slice(0, cut);
  out.append(*end);
  return Value(std::move(out));
}

Result<Value> filter_wordcount(Call& call) {
  O3_ASSIGN(const StringPtr text, to_string(*call.state, call.self));
  O3_TRY(call.charge(1 + text->size() / 4));
  int64_t words = 0;
  bool inside = false;
  for (size_t pos = 0; pos < text->size();) {
    const char32_t c = next_code_point(text->view(), pos);
    const bool word = c == '_' || is_alphabetic(c) || is_any_numeric(c);
    words += word && !inside ? 1 : 0;
    inside = word;
  }
  return Value(words);
}

Result<TaintedString> quoted(RenderState& state, const TaintedString& text, bool in_query) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  O3_TRY(state.charge(text.copy_cost() + text.size() / 2));
  TaintedString out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text.text()[i]);
    const char c = text.text()[i];
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '.' || c == '-' || c == '~' || (c == '/' && !in_query);
    if (plain) {
      out.append_slice(text, i, i + 1);
    } else if (c == ' ' && in_query) {
      out.append("+", text.origin_at(i));
    } else {
      const char escape[] = {'%', kDigits[byte >> 4], kDigits[byte & 0xF]};
      out.append({escape, sizeof(escape)}, text.origin_at(i));
    }
  }
  return out;
}

Result<Value> filter_urlencode(Call& call) {
  RenderState& state = *call.state;
  const bool several = call.self.is_dict() || call.self.is_sequence();
  if (!several) {
    O3_ASSIGN(const StringPtr text, to_string(state, call.self));
    O3_ASSIGN(TaintedString out, quoted(state, *text, false));
    return Value(std::move(out));
  }
  O3_ASSIGN(const SequencePtr items, iterate(state, call.self));
  TaintedString out;
  for (size_t i = 0; i < items->items.size(); ++i) {
    Value key = items->items[i];
    Value value;
    if (call.self.is_dict()) {
      value = call.self.as_dict().items[i].second;
    } else {
      O3_ASSIGN(const SequencePtr pair, iterate(state, key));
      if (pair->items.size() != 2) return invalid("urlencode needs pairs");
      value = pair->items[1];
      key = pair->items[0];
    }
    if (i > 0) out.append("&", Origin::kTemplate);
    O3_ASSIGN(const StringPtr name, to_string(state, key));
    O3_ASSIGN(const StringPtr text, to_string(state, value));
    O3_ASSIGN(const TaintedString left, quoted(state, *name, true));
    O3_ASSIGN(const TaintedString right, quoted(state, *text, true));
    out.append(left);
    out.append("=", Origin::kTemplate);
    out.append(right);
  }
  return Value(std::move(out));
}

Result<Value> filter_filesizeformat(Call& call) {
  const Builtin* to_float = find_filter("float");
  Call inner{.state = call.state, .self = call.self, .positional = {Value()}, .named = {}};
  O3_ASSIGN(const Value number, invoke(*to_float, inner, "filter"));
  if (number.is_none()) return invalid("filesizeformat needs a number");
  const double bytes = number.as_number();
  const bool binary = flag_argument(call, 0, false);
  const double base = binary ? 1024 : 1000;
  std::array<char, 64> buffer{};
  if (bytes == 1) {
    std::snprintf(buffer.data(), buffer.size(), "1 Byte");
  } else if (bytes < base) {
    std::snprintf(buffer.data(), buffer.size(), "%.0f Bytes", std::trunc(bytes) + 0.0);
  } else {
    constexpr std::string_view kPrefixes = "kMGTPEZY";
    double unit = base * base;
    size_t i = 0;
    for (; bytes >= unit && i + 1 < kPrefixes.size(); ++i) unit *= base;
    const char prefix = binary && i == 0 ? 'K' : kPrefixes[i];
    std::snprintf(buffer.data(), buffer.size(), "%.1f %c%sB", base * bytes / unit, prefix,
                  binary ? "i" : "");
  }
  return Value(TaintedString(buffer.data(), number.scalar_origin()));
}

constexpr auto kTextFilters = std::to_array<Builtin>({
    {"center", "width", 0, &filter_center},
    {"filesizeformat", "binary", 0, &filter_filesizeformat},
    {"forceescape", "", 0, &filter_forceescape},
    {"format", "*", 0, &filter_format},
    {"truncate", "length killwords end leeway", 0, &filter_truncate},
    {"urlencode", "", 0, &filter_urlencode},
    {"wordcount", "", 0, &filter_wordcount},
});

}  // namespace

const Builtin* find_text_filter(std::string_view name) noexcept {
  return find_in(kTextFilters, name);
}

}  // namespace o3::text::jinja
