// SPDX-License-Identifier: Apache-2.0
// Methods of strings.
#include "text/jinja/string_methods.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "text/jinja/access.h"
#include "text/jinja/call.h"
#include "text/jinja/format.h"
#include "text/jinja/format_spec.h"
#include "text/jinja/markup.h"
#include "text/jinja/operators.h"
#include "text/jinja/string_ops.h"
#include "text/jinja/unicode.h"

namespace o3::text::jinja {
namespace {

using Flavour = Sequence::Flavour;

Result<Value> text_value(Result<TaintedString> text) {
  O3_ASSIGN(TaintedString value, std::move(text));
  return Value(std::move(value));
}

Result<Value> list_value(Result<std::vector<Value>> items) {
  O3_ASSIGN(std::vector<Value> values, std::move(items));
  return make_sequence(Flavour::kList, std::move(values));
}

template <Side side>
Result<Value> str_strip(Call& call) {
  O3_ASSIGN(const StringPtr chars, string_argument(call, 0));
  return text_value(strip(*call.state, call.self.as_string(), chars.get(), side));
}

template <CaseMap map>
Result<Value> str_case(Call& call) {
  return text_value(map_case(*call.state, call.self.as_string(), map));
}

template <bool right>
Result<Value> str_split(Call& call) {
  O3_ASSIGN(const StringPtr separator, string_argument(call, 0));
  O3_ASSIGN(const int64_t limit, int_argument(call, 1, -1));
  const TaintedString& text = call.self.as_string();
  return list_value(right ? split_right(*call.state, text, separator.get(), limit)
                          : split(*call.state, text, separator.get(), limit));
}

Result<Value> str_splitlines(Call& call) {
  return list_value(split_lines(*call.state, call.self.as_string(), flag_argument(call, 0, false)));
}

Result<StringPtr> required_string(const Call& call, size_t index) {
  O3_ASSIGN(StringPtr text, string_argument(call, index));
  if (text == nullptr) return invalid("an argument must be a string, not NoneType");
  return text;
}

Result<Value> str_replace(Call& call) {
  O3_ASSIGN(const StringPtr from, required_string(call, 0));
  O3_ASSIGN(StringPtr to, required_string(call, 1));
  if (call.self.is_markup()) {
    O3_ASSIGN(to, as_html(*call.state, *call.arg(1)));
  }
  O3_ASSIGN(const int64_t limit, int_argument(call, 2, -1));
  return text_value(replace(*call.state, call.self.as_string(), *from, *to, limit));
}

// The part of the receiver that the arguments begin at `index` and `index + 1` select (code points,
// as in Python's find and startswith); nothing when the begin lies behind the end.
struct Window {
  size_t offset;   // bytes
  size_t skipped;  // code points
  TaintedString text;
};
Result<std::optional<Window>> window(const Call& call, size_t index) {
  const TaintedString& text = call.self.as_string();
  O3_TRY(call.charge(1 + text.size() / 16));
  if (call.arg(index) == nullptr) return std::optional<Window>(Window{0, 0, text});
  const auto size = static_cast<int64_t>(count_code_points(text.view()));
  O3_ASSIGN(int64_t begin, int_argument(call, index, 0));
  O3_ASSIGN(int64_t end, int_argument(call, index + 1, size));
  if (begin < 0) begin = std::max<int64_t>(begin + size, 0);
  end = end < 0 ? std::max<int64_t>(end + size, 0) : std::min(end, size);
  if (begin > end) return std::optional<Window>();
  const SliceBounds bounds{.begin = begin, .end = end, .step = std::nullopt};
  O3_ASSIGN(const Value part, get_slice(*call.state, call.self, bounds));
  size_t offset = 0;
  for (int64_t i = 0; i < begin; ++i) offset += utf8_length(text.text()[offset]);
  return std::optional<Window>(Window{offset, static_cast<size_t>(begin), part.as_string()});
}

template <bool at_end>
Result<Value> str_has_affix(Call& call) {
  O3_ASSIGN(const std::optional<Window> part, window(call, 1));
  std::vector<Value> candidates{*call.arg(0)};
  if (candidates[0].is_sequence() &&
      candidates[0].as_sequence().flavour == Sequence::Flavour::kTuple) {
    candidates = std::vector<Value>(candidates[0].as_sequence().items);
  }
  bool found = false;
  for (const Value& affix : candidates) {
    if (!affix.is_string()) {
      return invalid(std::string(at_end ? "endswith" : "startswith") +
                     " needs a string or a tuple of strings, not " +
                     std::string(affix.type_name()));
    }
    if (!part) continue;
    O3_TRY(call.charge(1 + affix.as_string().size() / 16));
    const std::string_view text = part->text.view();
    found = found || (at_end ? text.ends_with(affix.as_string().view())
                             : text.starts_with(affix.as_string().view()));
  }
  return Value(found);
}

template <bool last, bool must_exist>
Result<Value> str_find(Call& call) {
  O3_ASSIGN(const StringPtr part, required_string(call, 0));
  O3_ASSIGN(const std::optional<Window> where, window(call, 1));
  size_t hit = std::string_view::npos;
  if (where && last) {
    O3_ASSIGN(hit, find_last(*call.state, where->text, *part));
  } else if (where) {
    hit = find_text(where->text.view(), part->view(), 0);
  }
  if (hit == std::string_view::npos) {
    if (must_exist) return invalid("substring not found");
    return Value(int64_t{-1});
  }
  const size_t before = count_code_points(where->text.view().substr(0, hit));
  return Value(static_cast<int64_t>(where->skipped + before));
}

Result<Value> str_count(Call& call) {
  O3_ASSIGN(const StringPtr part, required_string(call, 0));
  O3_ASSIGN(const std::optional<Window> where, window(call, 1));
  if (!where) return Value(int64_t{0});
  const std::string_view text = where->text.view();
  if (part->empty()) return Value(static_cast<int64_t>(count_code_points(text) + 1));
  int64_t count = 0;
  size_t pos = 0;
  while ((pos = find_text(text, part->view(), pos)) != std::string_view::npos) {
    ++count;
    pos += part->size();
  }
  return Value(count);
}

Result<Value> str_join(Call& call) {
  O3_ASSIGN(const SequencePtr items, iterate(*call.state, *call.arg(0)));
  std::vector<Value> texts = items->items;
  O3_TRY(call.charge(texts.size()));
  for (Value& text : texts) {
    if (!text.is_string()) {
      return invalid("join needs strings, found a " + std::string(text.type_name()));
    }
    if (call.self.is_markup()) {
      O3_ASSIGN(StringPtr html, as_html(*call.state, text));
      text = Value(std::move(html));
    }
  }
  return text_value(join(*call.state, texts, call.self.as_string()));
}

template <bool at_end>
Result<Value> str_remove_affix(Call& call) {
  O3_ASSIGN(const StringPtr affix, required_string(call, 0));
  const TaintedString& text = call.self.as_string();
  O3_TRY(call.charge(text.copy_cost()));
  if (at_end) {
    const bool found = text.view().ends_with(affix->view());
    return Value(text.slice(0, text.size() - (found ? affix->size() : 0)));
  }
  const bool found = text.view().starts_with(affix->view());
  return Value(text.slice(found ? affix->size() : 0, text.size()));
}

template <bool last>
Result<Value> str_partition(Call& call) {
  O3_ASSIGN(const StringPtr separator, required_string(call, 0));
  if (separator->empty()) return invalid("empty separator");
  const TaintedString& text = call.self.as_string();
  O3_TRY(call.charge(text.copy_cost()));
  size_t hit = 0;
  if (last) {
    O3_ASSIGN(hit, find_last(*call.state, text, *separator));
  } else {
    hit = find_text(text.view(), separator->view(), 0);
  }
  std::vector<Value> parts;
  if (hit != std::string_view::npos) {
    const size_t end = hit + separator->size();
    parts = {Value(text.slice(0, hit)), Value(separator), Value(text.slice(end, text.size()))};
  } else if (last) {
    parts = {Value(TaintedString()), Value(TaintedString()), call.self};
  } else {
    parts = {call.self, Value(TaintedString()), Value(TaintedString())};
  }
  return make_sequence(Flavour::kTuple, std::move(parts));
}

// islower and its like: every character satisfies `each` and there is one.
template <bool (*each)(char32_t)>
Result<Value> str_all(Call& call) {
  const std::string_view text = call.self.as_string().view();
  O3_TRY(call.charge(1 + text.size() / 4));
  bool all = !text.empty();
  for (size_t pos = 0; all && pos < text.size();) all = each(next_code_point(text, pos));
  return Value(all);
}

bool is_decimal(char32_t c) {
  return decimal_digit(c) >= 0;
}
bool is_white(char32_t c) {
  return is_space(c);
}
bool is_letter(char32_t c) {
  return is_alphabetic(c);
}
bool is_digit(char32_t c) {
  return is_any_digit(c);
}
bool is_numeric(char32_t c) {
  return is_any_numeric(c);
}

template <bool upper>
Result<Value> str_is_case(Call& call) {
  const std::string_view text = call.self.as_string().view();
  O3_TRY(call.charge(1 + text.size() / 4));
  bool cased = false;
  for (size_t pos = 0; pos < text.size();) {
    const char32_t c = next_code_point(text, pos);
    if (is_title(c) || (upper ? is_lower(c) : is_upper(c))) return Value(false);
    cased = cased || (upper ? is_upper(c) : is_lower(c));
  }
  return Value(cased);
}

bool is_alphanumeric(char32_t c) {
  return is_alphabetic(c) || is_any_numeric(c);
}
bool is_ascii(char32_t c) {
  return c < 0x80;
}

Result<Value> str_is_ascii(Call& call) {
  if (call.self.as_string().empty()) return Value(true);
  return str_all<&is_ascii>(call);
}

Result<Value> str_is_printable(Call& call) {
  if (call.self.as_string().empty()) return Value(true);
  return str_all<&is_printable>(call);
}

Result<Value> str_is_title(Call& call) {
  const std::string_view text = call.self.as_string().view();
  O3_TRY(call.charge(1 + text.size() / 4));
  bool cased = false;
  bool after_cased = false;
  for (size_t pos = 0; pos < text.size();) {
    const char32_t c = next_code_point(text, pos);
    const bool starts = is_upper(c) || is_title(c);
    if ((starts && after_cased) || (is_lower(c) && !after_cased)) return Value(false);
    after_cased = starts || is_lower(c);
    cased = cased || after_cased;
  }
  return Value(cased);
}

// ljust, rjust and center, by format's align. What is filled in is the template's.
template <char align>
Result<Value> str_pad(Call& call) {
  FormatSpec spec;
  O3_ASSIGN(const int64_t width, int_argument(call, 0, 0));
  spec.width = std::max<int64_t>(width, 0);
  O3_ASSIGN(const StringPtr fill, string_argument(call, 1));
  if (fill != nullptr) {
    if (count_code_points(fill->view()) != 1) {
      return invalid("The fill character must be exactly one character long");
    }
    spec.fill = *fill;
  }
  const TaintedString& text = call.self.as_string();
  spec.align = align;
  // Python's center puts the odd one to the left of a text when the width is odd.
  const auto length = static_cast<int64_t>(count_code_points(text.view()));
  const int64_t room = std::max<int64_t>(*spec.width - length, 0);
  if (align == '^' && room % 2 == 1 && *spec.width % 2 == 1) {
    FormatSpec left = spec;
    left.align = '>';
    left.width = length + room / 2 + 1;
    O3_ASSIGN(const TaintedString shifted, format_text(*call.state, text, left));
    spec.align = '<';
    return text_value(format_text(*call.state, shifted, spec));
  }
  return text_value(format_text(*call.state, text, spec));
}

Result<Value> str_zfill(Call& call) {
  O3_ASSIGN(const int64_t asked, int_argument(call, 0, 0));
  const int64_t width = std::max<int64_t>(asked, 0);
  const TaintedString& text = call.self.as_string();
  const auto length = static_cast<int64_t>(count_code_points(text.view()));
  const size_t sign = text.view().starts_with('-') || text.view().starts_with('+') ? 1 : 0;
  const auto zeros = static_cast<uint64_t>(std::max<int64_t>(width - length, 0));
  O3_TRY(call.charge(text.copy_cost() + zeros / 4));
  TaintedString out = text.slice(0, sign);
  for (uint64_t i = 0; i < zeros; ++i) out.append("0", Origin::kTemplate);
  out.append_slice(text, sign, text.size());
  return Value(std::move(out));
}

Result<Value> str_expandtabs(Call& call) {
  O3_ASSIGN(const int64_t size, int_argument(call, 0, 8));
  const TaintedString& text = call.self.as_string();
  O3_TRY(call.charge(text.copy_cost() + text.size() / 4));
  TaintedString out;
  int64_t column = 0;
  for (size_t pos = 0; pos < text.size();) {
    const size_t begin = pos;
    const char32_t c = next_code_point(text.view(), pos);
    if (c == '\t') {
      const int64_t blanks = size > 0 ? size - column % size : 0;
      O3_TRY(call.charge(static_cast<uint64_t>(blanks) / 4));
      for (int64_t i = 0; i < blanks; ++i) out.append(" ", text.origin_at(begin));
      column += blanks;
    } else {
      out.append_slice(text, begin, pos);
      column = c == '\n' || c == '\r' ? 0 : column + 1;
    }
  }
  return Value(std::move(out));
}

constexpr auto kStringMethods = std::to_array<Builtin>({
    {"capitalize", "", 0, &str_case<CaseMap::kCapitalize>},
    {"casefold", "", 0, &str_case<CaseMap::kFold>},
    {"center", ".width .fillchar", 1, &str_pad<'^'>},
    {"count", ".sub .start .end", 1, &str_count},
    {"encode", "encoding errors", 0, nullptr},
    {"endswith", ".suffix .start .end", 1, &str_has_affix<true>},
    {"expandtabs", "tabsize", 0, &str_expandtabs},
    {"find", ".sub .start .end", 1, &str_find<false, false>},
    {"format", "*", 0, &format_string},
    {"format_map", "*", 0, nullptr},
    {"index", ".sub .start .end", 1, &str_find<false, true>},
    {"isalnum", "", 0, &str_all<&is_alphanumeric>},
    {"isalpha", "", 0, &str_all<&is_letter>},
    {"isascii", "", 0, &str_is_ascii},
    {"isdecimal", "", 0, &str_all<&is_decimal>},
    {"isdigit", "", 0, &str_all<&is_digit>},
    {"isidentifier", "", 0, nullptr},
    {"islower", "", 0, &str_is_case<false>},
    {"isnumeric", "", 0, &str_all<&is_numeric>},
    {"isprintable", "", 0, &str_is_printable},
    {"isspace", "", 0, &str_all<&is_white>},
    {"istitle", "", 0, &str_is_title},
    {"isupper", "", 0, &str_is_case<true>},
    {"join", ".iterable", 1, &str_join},
    {"ljust", ".width .fillchar", 1, &str_pad<'<'>},
    {"lower", "", 0, &str_case<CaseMap::kLower>},
    {"lstrip", ".chars", 0, &str_strip<Side::kLeft>},
    {"maketrans", "*", 0, nullptr},
    {"partition", ".sep", 1, &str_partition<false>},
    {"removeprefix", ".prefix", 1, &str_remove_affix<false>},
    {"removesuffix", ".suffix", 1, &str_remove_affix<true>},
    {"replace", ".old .new .count", 2, &str_replace},
    {"rfind", ".sub .start .end", 1, &str_find<true, false>},
    {"rindex", ".sub .start .end", 1, &str_find<true, true>},
    {"rjust", ".width .fillchar", 1, &str_pad<'>'>},
    {"rpartition", ".sep", 1, &str_partition<true>},
    {"rsplit", "sep maxsplit", 0, &str_split<true>},
    {"rstrip", ".chars", 0, &str_strip<Side::kRight>},
    {"split", "sep maxsplit", 0, &str_split<false>},
    {"splitlines", "keepends", 0, &str_splitlines},
    {"startswith", ".prefix .start .end", 1, &str_has_affix<false>},
    {"strip", ".chars", 0, &str_strip<Side::kBoth>},
    {"swapcase", "", 0, &str_case<CaseMap::kSwap>},
    {"title", "", 0, &str_case<CaseMap::kTitle>},
    {"translate", "*", 0, nullptr},
    {"upper", "", 0, &str_case<CaseMap::kUpper>},
    {"zfill", ".width", 1, &str_zfill},
});

}  // namespace

const Builtin* find_string_method(std::string_view name) noexcept {
  return find_in(kStringMethods, name);
}

}  // namespace o3::text::jinja
