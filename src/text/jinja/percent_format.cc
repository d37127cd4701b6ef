// SPDX-License-Identifier: Apache-2.0
// str % values, by Python's rules.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "text/jinja/access.h"
#include "text/jinja/format.h"
#include "text/jinja/format_spec.h"
#include "text/jinja/markup.h"
#include "text/jinja/numbers.h"
#include "text/jinja/operators.h"
#include "text/jinja/print.h"
#include "text/jinja/string_literal.h"
#include "text/jinja/unicode.h"

namespace o3::text::jinja {
namespace {

class PercentFormatter {
 public:
  PercentFormatter(RenderState& state, const Value& format, const Value& values)
      : state_(&state), format_(&format), text_(format.as_string().view()), values_(&values) {}

  Result<Value> run() {
    O3_TRY(state_->charge(format_->as_string().copy_cost()));
    while (pos_ < text_.size()) {
      const size_t percent = std::min(text_.find('%', pos_), text_.size());
      out_.append_slice(format_->as_string(), pos_, percent);
      if (percent == text_.size()) break;
      pos_ = percent + 1;
      O3_TRY(field(percent));
    }
    const bool mapping = values_->is_dict() || (values_->is_sequence() && !is_tuple());
    const size_t given = is_tuple() ? values_->as_sequence().items.size() : 1;
    if (!mapping && used_ < given) {
      return invalid("not all arguments converted during string formatting");
    }
    return Value(std::move(out_)).with_markup(format_->is_markup());
  }

 private:
  bool is_tuple() const {
    return values_->is_sequence() && values_->as_sequence().flavour == Sequence::Flavour::kTuple;
  }
  bool at(char c) const { return pos_ < text_.size() && text_[pos_] == c; }

  Result<Value> next() {
    if (is_tuple()) {
      const auto& items = values_->as_sequence().items;
      if (used_ < items.size()) return items[used_++];
    } else if (used_ == 0) {
      ++used_;
      return *values_;
    }
    return invalid("not enough arguments for format string");
  }

  // A width or a precision: digits, or * for the next value.
  Result<std::optional<int64_t>> amount() {
    if (at('*')) {
      ++pos_;
      O3_ASSIGN(const Value value, next());
      if (!value.is_integral()) return invalid("* wants int");
      return std::optional<int64_t>(value.as_int());
    }
    std::optional<int64_t> out;
    for (; pos_ < text_.size() && text_[pos_] >= '0' && text_[pos_] <= '9'; ++pos_) {
      out = out.value_or(0) * 10 + (text_[pos_] - '0');
      if (*out > INT32_MAX) return invalid("width or precision too big");
    }
    return out;
  }

  Result<std::optional<Value>> keyed() {
    if (!at('(')) return std::optional<Value>();
    int open = 1;
    const size_t begin = ++pos_;
    while (open > 0 && pos_ < text_.size()) {
      open += text_[pos_] == '(' ? 1 : text_[pos_] == ')' ? -1 : 0;
      ++pos_;
    }
    if (open > 0) return invalid("incomplete format key");
    if (!values_->is_dict()) return invalid("format requires a mapping");
    O3_TRY(state_->charge(1 + values_->as_dict().items.size() / 8));
    const std::string_view key = text_.substr(begin, pos_ - begin - 1);
    const Value* found = values_->as_dict().find(key);
    if (found == nullptr) return invalid("there is no key '" + std::string(key) + "'");
    used_ = 1;
    return std::optional<Value>(*found);
  }

  void flags(FormatSpec& spec, bool& zero) {
    for (; pos_ < text_.size(); ++pos_) {
      switch (text_[pos_]) {
        case '-':
          spec.align = '<';
          break;
        case '+':
          spec.sign = '+';
          break;
        case ' ':
          if (spec.sign == '-') spec.sign = ' ';
          break;
        case '#':
          spec.alternate = true;
          break;
        case '0':
          zero = true;
          break;
        default:
          return;
      }
    }
  }

  Result<void> field(size_t begin) {
    FormatSpec spec;
    bool zero = false;
    O3_ASSIGN(std::optional<Value> value, keyed());
    flags(spec, zero);
    O3_ASSIGN(spec.width, amount());
    if (spec.width.value_or(0) < 0) {
      spec.align = '<';
      spec.width = *spec.width == INT64_MIN ? INT64_MAX : -*spec.width;
    }
    if (at('.')) {
      ++pos_;
      O3_ASSIGN(const auto precision, amount());
      spec.precision = std::max<int64_t>(precision.value_or(0), 0);
    }
    while (at('h') || at('l') || at('L')) ++pos_;
    if (pos_ == text_.size()) return invalid("incomplete format");
    const char type = text_[pos_++];
    // What a field adds of its own belongs to the message that wrote any part of it.
    const bool content = format_->as_string().slice(begin, pos_).any_content();
    const Origin origin = content ? Origin::kContent : Origin::kTemplate;
    spec.origin = origin;
    spec.fill = TaintedString(" ", origin);
    if (type == '%') {
      out_.append("%", origin);
      return {};
    }
    if (!value) {
      O3_ASSIGN(value, next());
    }
    O3_ASSIGN(TaintedString written, convert(*value, type, spec, zero));
    O3_TRY(state_->charge(written.copy_cost() + 2));
    out_.append(written);
    return {};
  }

  Result<TaintedString> convert(const Value& value, char type, FormatSpec spec, bool zero) {
    if (type == 's' || type == 'r' || type == 'a') return as_text(value, type, spec);
    if (type == 'c') return character(value, spec);
    const bool integral = type == 'd' || type == 'i' || type == 'u';
    const bool radix = type == 'o' || type == 'x' || type == 'X';
    if (!integral && !radix && std::string_view("eEfFgG").find(type) == std::string_view::npos) {
      return invalid(std::string("unsupported format character '") + type + "'");
    }
    const bool whole = value.is_integral() || value.is_any_int();
    if ((!whole && !value.is_number()) || (radix && !whole)) {
      return invalid(std::string("%") + type + " format: a number is required, not " +
                     std::string(value.type_name()));
    }
    spec.type = integral ? 'd' : type;
    if (zero && spec.align == 0) {
      spec.fill = TaintedString("0", spec.origin);
      spec.align = '=';
    }
    Value number = value;
    if (integral && !whole) {
      O3_ASSIGN(number, to_int(value, 10, Value()));
      if (number.is_none()) return invalid("cannot convert float NaN to integer");
    }
    if ((integral || radix) && spec.precision) {
      if (*spec.precision > 1) {
        return unsupported("a precision for whole numbers is not supported in %");
      }
      spec.precision.reset();
    }
    return format_value(*state_, number, spec);
  }

  Result<TaintedString> as_text(const Value& value, char type, FormatSpec spec) {
    StringPtr text;
    if (type == 's') {
      O3_ASSIGN(text, to_string(*state_, value));
    } else {
      O3_ASSIGN(TaintedString shown, repr(*state_, value));
      if (type == 'a') shown = ascii(shown);
      if (spec.origin == Origin::kContent) shown = TaintedString(shown.text(), spec.origin);
      text = std::make_shared<const TaintedString>(std::move(shown));
    }
    if (format_->is_markup() && !(type == 's' && value.is_markup())) {
      O3_ASSIGN(TaintedString html, escape_html(*state_, *text));
      text = std::make_shared<const TaintedString>(std::move(html));
    }
    if (spec.align == 0) spec.align = '>';
    return format_text(*state_, *text, spec);
  }

  static TaintedString ascii(const TaintedString& text) {
    TaintedString out;
    for (size_t pos = 0; pos < text.size();) {
      const size_t begin = pos;
      const char32_t c = next_code_point(text.view(), pos);
      if (c < 0x80) {
        out.append_slice(text, begin, pos);
      } else {
        out.append(hex_escape(c), text.origin_at(begin));
      }
    }
    return out;
  }

  Result<TaintedString> character(const Value& value, FormatSpec spec) {
    if (spec.align == 0) spec.align = '>';
    spec.precision.reset();
    if (value.is_string() && count_code_points(value.as_string().view()) == 1) {
      return format_text(*state_, value.as_string(), spec);
    }
    if (!value.is_integral()) return invalid("%c requires int or char");
    spec.type = 'c';
    return format_value(*state_, value, spec);
  }

  RenderState* state_;
  const Value* format_;
  std::string_view text_;
  const Value* values_;
  size_t pos_ = 0;
  size_t used_ = 0;
  TaintedString out_;
};

}  // namespace

Result<Value> percent_format(RenderState& state, const Value& format, const Value& values) {
  return PercentFormatter(state, format, values).run();
}

}  // namespace o3::text::jinja
