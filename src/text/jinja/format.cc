// SPDX-License-Identifier: Apache-2.0
// str.format(): fields by position and name, !s and !r; format specifications and attribute or
// index lookups inside a field are refused.
#include "text/jinja/format.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "text/jinja/markup.h"
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
      O3_TRY(field(text.substr(brace + 1, end - brace - 1)));
      pos = end + 1;
    }
    return std::move(out_);
  }

 private:
  Result<void> field(std::string_view text) {
    char conversion = 's';
    if (const size_t mark = text.find('!'); mark != std::string_view::npos) {
      if (mark + 2 != text.size() || (text[mark + 1] != 's' && text[mark + 1] != 'r')) {
        return unsupported("format: the field '" + std::string(text) + "' is not supported");
      }
      conversion = text[mark + 1];
      text = text.substr(0, mark);
    } else if (!text.empty() && text.back() == ':') {
      text.remove_suffix(1);
    }
    if (text.find_first_of(":.[{") != std::string_view::npos) {
      return unsupported("format: the field '" + std::string(text) + "' is not supported");
    }
    O3_ASSIGN(const Value* value, argument(text));
    O3_ASSIGN(const StringPtr written, write(*value, conversion));
    O3_TRY(call_->charge(written->copy_cost() + 2));
    out_.append(*written);
    return {};
  }

  Result<StringPtr> write(const Value& value, char conversion) {
    RenderState& state = *call_->state;
    Value text = value;
    if (conversion == 'r') {
      O3_ASSIGN(TaintedString shown, repr(state, value));
      text = Value(std::move(shown));
    } else if (!value.is_string()) {
      O3_ASSIGN(StringPtr shown, to_string(state, value));
      text = Value(std::move(shown));
    }
    return call_->self.is_markup() ? as_html(state, text) : Result<StringPtr>(text.string_ptr());
  }

  Result<const Value*> argument(std::string_view name) {
    const bool by_position = name.find_first_not_of("0123456789") == std::string_view::npos;
    if (!by_position) {
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
