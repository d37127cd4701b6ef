// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "text/normalize/normalizer.h"

namespace o3::text {
namespace {

// A run of text with its marks; what replaces it is marked if all of it was.
void append_part(const MarkedText& in, size_t begin, size_t end, MarkedText& out) {
  out.text.append(in.text, begin, end - begin);
  if (in.marked()) out.marks.append(in.marks, begin, end - begin);
}
void append_replacement(const MarkedText& in, size_t begin, size_t end, std::string_view content,
                        MarkedText& out) {
  out.append(content, in.marked() && in.all(begin, end), in.marked());
}

class Replace final : public Normalizer {
 public:
  Replace(Regex pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void apply(MarkedText& text) const override {
    MarkedText out;
    RegexScanner scanner(pattern_, text.text);
    size_t done = 0;
    for (auto m = scanner.next(); m.begin != RegexScanner::kNone; m = scanner.next()) {
      append_part(text, done, m.begin, out);
      append_replacement(text, m.begin, m.end, content_, out);
      done = m.end;
    }
    append_part(text, done, text.text.size(), out);
    text = std::move(out);
  }
  double most_bytes(double bytes) const override {  // a match may be empty
    return bytes + (bytes + 1) * static_cast<double>(content_.size());
  }

 private:
  Regex pattern_;
  std::string content_;
};

class ReplaceText final : public Normalizer {
 public:
  ReplaceText(std::string pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  bool keeps(std::string_view text) const override {
    return text.find(pattern_) == std::string_view::npos;
  }
  void apply(MarkedText& text) const override {
    MarkedText out;
    out.text.reserve(text.text.size() + text.text.size() / 2);
    size_t done = 0;
    for (size_t at = text.text.find(pattern_); at != std::string::npos;
         at = text.text.find(pattern_, done)) {
      append_part(text, done, at, out);
      append_replacement(text, at, at + pattern_.size(), content_, out);
      done = at + pattern_.size();
    }
    append_part(text, done, text.text.size(), out);
    text = std::move(out);
  }
  double most_bytes(double bytes) const override {
    return bytes * std::max(1.0, static_cast<double>(content_.size()) /
                                     static_cast<double>(pattern_.size()));
  }

 private:
  std::string pattern_;  // not empty
  std::string content_;
};

}  // namespace

NormalizerPtr replace_normalizer(Regex pattern, std::string content) {
  return std::make_unique<Replace>(std::move(pattern), std::move(content));
}
NormalizerPtr replace_text_normalizer(std::string pattern, std::string content) {
  return std::make_unique<ReplaceText>(std::move(pattern), std::move(content));
}

}  // namespace o3::text
