// SPDX-License-Identifier: Apache-2.0
// str.format(): fields by position and name with lookups, conversions and format specifications;
// fields within specifications are refused.
#include "text/jinja/format.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "text/jinja/access.h"
#include "text/jinja/format_spec.h"
#include "text/jinja/markup.h"
#include "text/jinja/operators.h"
#include "text/jinja/print.h"

namespace o3::text::jinja {
namespace {

class Formatter {
 public:
  explicit Formatter(const Call& call) : call_(&call), format_(&call.self.as_string()) {}

  Result<TaintedString> run() {
    const std::string_view text = format_->view();
    size_t pos = 0;
    while (pos < text.size()) {
      const size_t brace = std::min(text.find_first_of("{}", pos), text.size());
      out_.append_slice(*format_, pos, brace);
      if (brace == text.size()) break;
      if (brace + 1 < text.size() && text[brace + 1] == text[brace]) {
        out_.append_slice(*format_, brace, brace + 1);
        pos = brace + 2;
        continue;
      }
      if (text[brace] == '}') return invalid("format: single '}' in the format");
      const size_t end = text.find('}', brace);
      if (end == std::string_view::npos) return invalid("format: a field does not end");
      O3_TRY(field(format_->slice(brace + 1, end)));
      pos = end + 1;
    }
    return std::move(out_);
  }

 private:
  // name[!conversion][:specification]
  Result<void> field(const TaintedString& written) {
    const std::string_view text = written.view();
    const size_t brackets = text.find('[') < text.find_first_of("!:") ? text.rfind(']') : 0;
    if (brackets == std::string_view::npos) return invalid("format: expected ']'");
    const size_t end = std::min(text.find_first_of("!:", brackets), text.size());
    const std::string_view name = text.substr(0, end);
    std::string_view rest = text.substr(end);
    char conversion = 0;
    Origin converter = Origin::kTemplate;
    if (rest.starts_with('!')) {
      if (rest.size() < 2 || (rest.size() > 2 && rest[2] != ':')) {
        return invalid("format: a conversion is one letter");
      }
      conversion = rest[1];
      converter = written.origin_at(end + 1);
      rest.remove_prefix(2);
    }
    if (rest.starts_with(':')) rest.remove_prefix(1);
    if (text.find('{') != std::string_view::npos) {
      return unsupported("format: fields within a field are not supported");
    }
    O3_ASSIGN(Value value, looked_up(name));
    O3_ASSIGN(value, converted(std::move(value), conversion, converter));
    O3_ASSIGN(const StringPtr shown,
              write(value, written.slice(text.size() - rest.size(), text.size())));
    O3_TRY(call_->charge(shown->copy_cost() + 2));
    out_.append(*shown);
    return {};
  }

  // What repr() adds belongs to whoever asked for it.
  Result<Value> converted(Value value, char conversion, Origin origin) {
    if (conversion == 0) return value;
    RenderState& state = *call_->state;
    if (conversion == 's') {
      O3_ASSIGN(StringPtr shown, to_string(state, value));
      return Value(std::move(shown));
    }
    if (conversion == 'a') return unsupported("format: the conversion !a is not supported");
    if (conversion != 'r') return invalid("format: unknown conversion specifier");
    O3_ASSIGN(TaintedString shown, repr(state, value));
    if (origin == Origin::kContent) shown = TaintedString(shown.text(), origin);
    return Value(std::move(shown));
  }

  Result<StringPtr> write(const Value& value, const TaintedString& spec) {
    RenderState& state = *call_->state;
    Value text = value;
    if (!spec.empty()) {
      O3_ASSIGN(const FormatSpec parsed, parse_format_spec(spec));
      O3_ASSIGN(TaintedString shown, format_value(state, value, parsed));
      text = Value(std::move(shown));
    } else if (!value.is_string()) {
      O3_ASSIGN(StringPtr shown, to_string(state, value));
      text = Value(std::move(shown));
    }
    return call_->self.is_markup() ? as_html(state, text) : Result<StringPtr>(text.string_ptr());
  }

  // argument, then .attribute and [index] as often as given.
  Result<Value> looked_up(std::string_view name) {
    const size_t first = std::min(name.find_first_of(".["), name.size());
    O3_ASSIGN(const Value* found, argument(name.substr(0, first)));
    Value value = *found;
    for (size_t pos = first; pos < name.size();) {
      const bool attribute = name[pos] == '.';
      if (!attribute && name[pos] != '[') return invalid("format: only '.' or '[' may follow ']'");
      const size_t end = attribute ? std::min(name.find_first_of(".[", pos + 1), name.size())
                                   : name.find(']', pos);
      if (end == std::string_view::npos) return invalid("format: expected ']'");
      const std::string_view part = name.substr(pos + 1, end - pos - 1);
      if (part.empty()) return invalid("format: empty attribute in format string");
      O3_ASSIGN(value, attribute ? get_attribute(*call_->state, value, part) : item(value, part));
      pos = attribute ? end : end + 1;
    }
    return value;
  }

  Result<Value> item(const Value& value, std::string_view key) {
    int64_t index = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
    const bool number = error == std::errc() && end == key.data() + key.size() && key[0] != '-';
    return get_item(*call_->state, value, number ? Value(index) : Value::trusted(key));
  }

  Result<const Value*> argument(std::string_view name) {
    const bool by_position = name.find_first_not_of("0123456789") == std::string_view::npos;
    if (!by_position) {
      O3_TRY(call_->charge(1 + call_->named.size() / 8));
      for (const auto& [key, value] : call_->named) {
        if (key == name) return &value;
      }
      return invalid("format: there is no argument named '" + std::string(name) + "'");
    }
    const bool automatic = name.empty();
    if (automatic_.value_or(automatic) != automatic) {
      return invalid("format: fields are numbered by hand and automatically");
    }
    automatic_ = automatic;
    size_t index = next_++;
    if (!automatic) {
      index = SIZE_MAX;
      std::from_chars(name.data(), name.data() + name.size(), index);
    }
    if (index >= call_->positional.size()) return invalid("format: too few arguments");
    return &call_->positional[index];
  }

  const Call* call_;
  const TaintedString* format_;
  TaintedString out_;
  size_t next_ = 0;
  std::optional<bool> automatic_;
};

}  // namespace

Result<Value> format_string(Call& call) {
  O3_TRY(call.charge(call.self.as_string().copy_cost()));
  O3_ASSIGN(TaintedString text, Formatter(call).run());
  return Value(std::move(text));
}

}  // namespace o3::text::jinja
