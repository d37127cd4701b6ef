// SPDX-License-Identifier: Apache-2.0
// What the filters that sort, group and pick look at in each item.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/access.h"
#include "text/jinja/string_ops.h"

namespace o3::text::jinja {

// "a.b.0" -> item.a.b[0], each part as object[part]; an integer is one index.
class AttributePath {
 public:
  static Result<AttributePath> parse(const Value& attribute) {
    AttributePath path;
    if (attribute.is_none()) return path;
    if (!attribute.is_string()) {
      path.parts_.push_back(attribute);
      return path;
    }
    const TaintedString& text = attribute.as_string();
    size_t begin = 0;
    while (true) {
      const size_t end = std::min(text.text().find('.', begin), text.size());
      const std::string_view part = text.view().substr(begin, end - begin);
      const bool digits = !part.empty() && part.size() < 10 &&
                          part.find_first_not_of("0123456789") == std::string_view::npos;
      path.parts_.push_back(digits ? Value(static_cast<int64_t>(std::stoi(std::string(part))))
                                   : Value(text.slice(begin, end)));
      if (end == text.size()) return path;
      begin = end + 1;
    }
  }

  Result<Value> of(RenderState& state, Value item, const Value* otherwise = nullptr) const {
    for (const Value& part : parts_) {
      O3_ASSIGN(item, get_item(state, item, part));
      if (otherwise != nullptr && !otherwise->is_none() && item.is_undefined()) item = *otherwise;
    }
    return item;
  }

 private:
  std::vector<Value> parts_;
};

// Case is ignored unless asked for.
inline Result<Value> folded(RenderState& state, const Value& value, bool case_sensitive) {
  if (case_sensitive || !value.is_string()) return value;
  O3_ASSIGN(TaintedString text, map_case(state, value.as_string(), CaseMap::kLower));
  return Value(std::move(text));
}

}  // namespace o3::text::jinja
