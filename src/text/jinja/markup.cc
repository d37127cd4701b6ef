// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/markup.h"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace o3::text::jinja {
namespace {

std::string_view entity(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '\'':
      return "&#39;";
    case '"':
      return "&#34;";
    default:
      return {};
  }
}

}  // namespace

Result<TaintedString> escape_html(RenderState& state, const TaintedString& text) {
  O3_TRY(state.charge(text.copy_cost() + text.size() / 4));
  TaintedString out;
  text.for_each_run([&](std::string_view run, Origin origin) {
    size_t plain = 0;  // begin of what needs no entity
    for (size_t i = 0; i < run.size(); ++i) {
      const std::string_view replacement = entity(run[i]);
      if (replacement.empty()) continue;
      out.append(run.substr(plain, i - plain), origin);
      out.append(replacement, origin);
      plain = i + 1;
    }
    out.append(run.substr(plain), origin);
  });
  return out;
}

Result<StringPtr> as_html(RenderState& state, const Value& string) {
  if (string.is_markup()) return string.string_ptr();
  O3_ASSIGN(TaintedString escaped, escape_html(state, string.as_string()));
  return std::make_shared<const TaintedString>(std::move(escaped));
}

Result<Value> marked(const Value& result) {
  if (result.is_string()) return result.with_markup();
  if (!result.is_sequence() || result.as_sequence().flavour > Sequence::Flavour::kTuple) {
    return result;
  }
  std::vector<Value> items;
  items.reserve(result.as_sequence().items.size());
  for (const Value& item : result.as_sequence().items) {
    items.push_back(item.is_string() ? item.with_markup() : item);
  }
  return make_sequence(result.as_sequence().flavour, std::move(items));
}

}  // namespace o3::text::jinja
