// SPDX-License-Identifier: Apache-2.0
// Text that remembers, for every byte, whether a message's author wrote it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace o3::text::jinja {

enum class Origin : unsigned char {
  kTemplate,  // the template or the operator: may become control tokens
  kContent,   // messages, tool definitions, documents: never
};

// Well-formed UTF-8 with the byte ranges that are kContent. Most template text is entirely
// kTemplate and then carries no ranges at all.
class TaintedString {
 public:
  struct Range {
    size_t begin;
    size_t end;
  };

  TaintedString() = default;
  TaintedString(std::string text, Origin origin);

  const std::string& text() const noexcept { return text_; }
  std::string_view view() const noexcept { return text_; }
  size_t size() const noexcept { return text_.size(); }
  bool empty() const noexcept { return text_.empty(); }

  // Ranges of kContent, in order, none empty, no two touching.
  const std::vector<Range>& content_ranges() const noexcept { return content_; }
  Origin origin_at(size_t byte) const noexcept;
  bool any_content() const noexcept { return !content_.empty(); }

  void append(std::string_view text, Origin origin);
  void append(const TaintedString& other) { append_slice(other, 0, other.size()); }
  // Bytes [begin, end) of other.
  void append_slice(const TaintedString& other, size_t begin, size_t end);
  TaintedString slice(size_t begin, size_t end) const;

  // Work units that copying [begin, end) costs (steps of RenderLimits).
  size_t copy_cost() const noexcept { return 1 + text_.size() / 16 + content_.size(); }

  // Calls f(text, origin) for each maximal run of one origin, in order.
  template <class F>
  void for_each_run(F&& f) const {
    size_t pos = 0;
    for (const Range& range : content_) {
      if (range.begin > pos) f(view().substr(pos, range.begin - pos), Origin::kTemplate);
      f(view().substr(range.begin, range.end - range.begin), Origin::kContent);
      pos = range.end;
    }
    if (pos < text_.size()) f(view().substr(pos), Origin::kTemplate);
  }

 private:
  void mark(size_t begin, size_t end);

  std::string text_;
  std::vector<Range> content_;
};

}  // namespace o3::text::jinja
