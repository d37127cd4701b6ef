// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/string_ops.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "text/jinja/operators.h"
#include "text/jinja/print.h"
#include "text/jinja/unicode.h"
#include "text/unicode/utf8.h"

namespace o3::text::jinja {
namespace {

constexpr size_t kNone = std::string_view::npos;

char32_t code_point_at(std::string_view text, size_t pos) {
  return next_code_point(text, pos);
}

bool in_set(const TaintedString* chars, std::string_view text, size_t begin, size_t end) {
  if (chars == nullptr) return is_space(code_point_at(text, begin));
  return chars->view().find(text.substr(begin, end - begin)) != kNone;
}

bool is_word_border(char32_t c) {  // what jinja2's title filter splits at
  return c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || is_space(c);
}

void append_swapped(std::string& out, std::string_view text, size_t pos, char32_t c) {
  if (is_upper(c)) {
    append_lower_at(out, text, pos);
  } else if (is_lower(c)) {
    append_upper(out, c);
  } else {
    append_utf8(c, out);
  }
}

Error empty_separator() {
  return invalid("empty separator");
}

Result<std::vector<Value>> split_space(const TaintedString& text, int64_t limit) {
  std::vector<Value> parts;
  const std::string_view view = text.view();
  size_t pos = 0;
  const auto skip = [&](bool spaces) {
    while (pos < view.size() && is_space(code_point_at(view, pos)) == spaces) {
      pos += utf8_length(view[pos]);
    }
  };
  for (skip(true); pos < view.size(); skip(true)) {
    if (limit >= 0 && static_cast<int64_t>(parts.size()) == limit) {
      parts.emplace_back(text.slice(pos, view.size()));
      break;
    }
    const size_t begin = pos;
    skip(false);
    parts.emplace_back(text.slice(begin, pos));
  }
  return parts;
}

Result<std::vector<Value>> split_space_right(const TaintedString& text, int64_t limit) {
  std::vector<Value> parts;
  const std::string_view view = text.view();
  size_t end = view.size();
  const auto skip = [&](bool spaces) {
    while (end > 0) {
      const size_t before = previous_code_point(view, end);
      if (is_space(code_point_at(view, before)) != spaces) return;
      end = before;
    }
  };
  for (skip(true); end > 0; skip(true)) {
    if (limit >= 0 && static_cast<int64_t>(parts.size()) == limit) {
      parts.emplace_back(text.slice(0, end));
      break;
    }
    const size_t stop = end;
    skip(false);
    parts.emplace_back(text.slice(end, stop));
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

// `from` empty: `to` goes before every character and at the end.
TaintedString interleave(const TaintedString& text, const TaintedString& to, uint64_t count) {
  TaintedString out;
  size_t pos = 0;
  for (uint64_t i = 0; i < count; ++i) {
    out.append(to);
    if (pos == text.size()) return out;
    const size_t end = pos + utf8_length(text.text()[pos]);
    out.append_slice(text, pos, end);
    pos = end;
  }
  out.append_slice(text, pos, text.size());
  return out;
}

}  // namespace

Result<TaintedString> strip(RenderState& state, const TaintedString& text,
                            const TaintedString* chars, Side side) {
  O3_TRY(state.charge(text.copy_cost()));
  const std::string_view view = text.view();
  const uint64_t per_char = 1 + (chars == nullptr ? 0 : chars->size() / 16);
  size_t begin = 0;
  size_t end = view.size();
  while (side != Side::kRight && begin < end) {
    const size_t next = begin + utf8_length(view[begin]);
    if (!in_set(chars, view, begin, next)) break;
    begin = next;
    O3_TRY(state.charge(per_char));
  }
  while (side != Side::kLeft && end > begin) {
    const size_t before = previous_code_point(view, end);
    if (!in_set(chars, view, before, end)) break;
    end = before;
    O3_TRY(state.charge(per_char));
  }
  return text.slice(begin, end);
}

Result<std::vector<Value>> split(RenderState& state, const TaintedString& text,
                                 const TaintedString* separator, int64_t limit) {
  O3_TRY(state.charge(text.copy_cost() + text.size() / 4));
  if (separator == nullptr) return split_space(text, limit);
  if (separator->empty()) return empty_separator();
  std::vector<Value> parts;
  size_t pos = 0;
  while (limit < 0 || static_cast<int64_t>(parts.size()) < limit) {
    const size_t hit = find_text(text.view(), separator->view(), pos);
    if (hit == kNone) break;
    O3_TRY(state.charge(4));
    parts.emplace_back(text.slice(pos, hit));
    pos = hit + separator->size();
  }
  parts.emplace_back(text.slice(pos, text.size()));
  return parts;
}

Result<std::vector<Value>> split_right(RenderState& state, const TaintedString& text,
                                       const TaintedString* separator, int64_t limit) {
  O3_TRY(state.charge(text.copy_cost() + text.size() / 4));
  if (separator == nullptr) return split_space_right(text, limit);
  if (separator->empty()) return empty_separator();
  // Matches from the right differ from those from the left when they overlap ("aaa" at "aa").
  O3_TRY(state.charge(1 + text.size() / 64 * separator->size()));
  std::vector<Value> parts;
  size_t end = text.size();
  while (limit < 0 || static_cast<int64_t>(parts.size()) < limit) {
    const size_t hit = end < separator->size()
                           ? kNone
                           : text.view().rfind(separator->view(), end - separator->size());
    if (hit == kNone) break;
    O3_TRY(state.charge(4));
    parts.emplace_back(text.slice(hit + separator->size(), end));
    end = hit;
  }
  parts.emplace_back(text.slice(0, end));
  std::reverse(parts.begin(), parts.end());
  return parts;
}

Result<std::vector<Value>> split_lines(RenderState& state, const TaintedString& text,
                                       bool keep_ends) {
  O3_TRY(state.charge(text.copy_cost() + text.size() / 4));
  std::vector<Value> lines;
  const std::string_view view = text.view();
  size_t begin = 0;
  for (size_t pos = 0; pos < view.size();) {
    const size_t at = pos;
    const char32_t c = next_code_point(view, pos);
    if (!is_line_end(c)) continue;
    if (c == '\r' && pos < view.size() && view[pos] == '\n') ++pos;
    O3_TRY(state.charge(4));
    lines.emplace_back(text.slice(begin, keep_ends ? pos : at));
    begin = pos;
  }
  if (begin < view.size()) lines.emplace_back(text.slice(begin, view.size()));
  return lines;
}

Result<TaintedString> replace(RenderState& state, const TaintedString& text,
                              const TaintedString& from, const TaintedString& to, int64_t limit) {
  O3_TRY(state.charge(text.copy_cost()));
  const uint64_t most = limit < 0 ? UINT64_MAX : static_cast<uint64_t>(limit);
  if (from.empty()) {
    const uint64_t count = std::min<uint64_t>(most, count_code_points(text.view()) + 1);
    const auto cost = checked_mul(count, to.copy_cost() + 1);
    O3_TRY(state.charge(cost.value_or(UINT64_MAX)));
    return interleave(text, to, count);
  }
  TaintedString out;
  size_t pos = 0;
  for (uint64_t i = 0; i < most; ++i) {
    const size_t hit = find_text(text.view(), from.view(), pos);
    if (hit == kNone) break;
    O3_TRY(state.charge(to.copy_cost()));
    out.append_slice(text, pos, hit);
    out.append(to);
    pos = hit + from.size();
  }
  out.append_slice(text, pos, text.size());
  return out;
}

Result<TaintedString> map_case(RenderState& state, const TaintedString& text, CaseMap map) {
  O3_TRY(state.charge(text.copy_cost() + text.size() / 2));
  TaintedString out;
  const std::string_view view = text.view();
  bool first = true;
  bool after_cased = false;  // Python's str.title
  std::string mapped;
  for (size_t pos = 0; pos < view.size();) {
    const size_t at = pos;
    const char32_t c = next_code_point(view, pos);
    mapped.clear();
    switch (map) {
      case CaseMap::kUpper:
        append_upper(mapped, c);
        break;
      case CaseMap::kLower:
        append_lower_at(mapped, view, at);
        break;
      case CaseMap::kFold:
        append_folded(mapped, c);
        break;
      case CaseMap::kSwap:
        append_swapped(mapped, view, at, c);
        break;
      case CaseMap::kCapitalize:
        first ? append_title(mapped, c) : append_lower_at(mapped, view, at);
        first = false;
        break;
      case CaseMap::kTitle:
        after_cased ? append_lower_at(mapped, view, at) : append_title(mapped, c);
        after_cased = is_cased(c);
        break;
    }
    out.append(mapped, text.origin_at(at));
  }
  return out;
}

Result<TaintedString> title_words(RenderState& state, const TaintedString& text) {
  O3_TRY(state.charge(text.copy_cost() + text.size() / 2));
  TaintedString out;
  const std::string_view view = text.view();
  std::string mapped;
  for (size_t pos = 0; pos < view.size();) {
    const bool border = is_word_border(code_point_at(view, pos));
    size_t end = pos;  // of a run of borders or of others
    while (end < view.size() && is_word_border(code_point_at(view, end)) == border) {
      end += utf8_length(view[end]);
    }
    const size_t tail = pos + utf8_length(view[pos]);
    for (size_t at = pos; at < end; at += utf8_length(view[at])) {
      mapped.clear();
      if (at == pos) {
        append_upper(mapped, code_point_at(view, at));
      } else {
        append_lower_at(mapped, view.substr(tail, end - tail), at - tail);
      }
      out.append(mapped, text.origin_at(at));
    }
    pos = end;
  }
  return out;
}

Result<TaintedString> join(RenderState& state, const std::vector<Value>& items,
                           const TaintedString& separator) {
  TaintedString out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out.append(separator);
    O3_ASSIGN(const StringPtr text, to_string(state, items[i]));
    O3_TRY(state.charge(text->copy_cost() + separator.copy_cost()));
    out.append(*text);
  }
  return out;
}

Result<size_t> find_last(RenderState& state, const TaintedString& text, const TaintedString& part) {
  O3_TRY(state.charge(1 + text.size() / 64 * (part.size() + 1)));
  return text.view().rfind(part.view());
}

}  // namespace o3::text::jinja
