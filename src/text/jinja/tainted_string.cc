// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/tainted_string.h"

#include <algorithm>

namespace o3::text::jinja {

TaintedString::TaintedString(std::string text, Origin origin) : text_(std::move(text)) {
  if (origin == Origin::kContent) mark(0, text_.size());
}

void TaintedString::mark(size_t begin, size_t end) {
  if (begin >= end) return;
  if (!content_.empty() && content_.back().end == begin) {
    content_.back().end = end;
  } else {
    content_.push_back({begin, end});
  }
}

Origin TaintedString::origin_at(size_t byte) const noexcept {
  const auto after = std::upper_bound(content_.begin(), content_.end(), byte,
                                      [](size_t x, const Range& r) { return x < r.begin; });
  const bool inside = after != content_.begin() && byte < std::prev(after)->end;
  return inside ? Origin::kContent : Origin::kTemplate;
}

void TaintedString::append(std::string_view text, Origin origin) {
  const size_t begin = text_.size();
  text_ += text;
  if (origin == Origin::kContent) mark(begin, text_.size());
}

void TaintedString::append_slice(const TaintedString& other, size_t begin, size_t end) {
  if (begin >= end) return;
  const size_t base = text_.size();
  text_.append(other.text_, begin, end - begin);
  auto range = std::upper_bound(other.content_.begin(), other.content_.end(), begin,
                                [](size_t x, const Range& r) { return x < r.end; });
  for (; range != other.content_.end() && range->begin < end; ++range) {
    mark(base + std::max(range->begin, begin) - begin, base + std::min(range->end, end) - begin);
  }
}

TaintedString TaintedString::slice(size_t begin, size_t end) const {
  TaintedString out;
  out.append_slice(*this, begin, end);
  return out;
}

}  // namespace o3::text::jinja
