// SPDX-License-Identifier: Apache-2.0
// What stands at the two ends of a text.
#include <algorithm>
#include <utility>

#include "text/normalize/each_character.h"
#include "text/normalize/normalizer.h"
#include "text/unicode/category.h"

namespace o3::text {
namespace {

class Strip final : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  void apply(MarkedText& in) const override {
    size_t begin = in.text.size();
    size_t end = 0;
    size_t at = 0;
    for_each_character(in, [&](char32_t code, std::string_view bytes, bool) {
      if (!is_white_space(code)) {
        begin = std::min(begin, at);
        end = at + bytes.size();
      }
      at += bytes.size();
    });
    const size_t from = left_ ? begin : 0;
    const size_t to = right_ ? std::max(end, from) : in.text.size();
    in.text = in.text.substr(from, to - from);
    if (in.marked()) in.marks = in.marks.substr(from, to - from);
  }

 private:
  bool left_;
  bool right_;
};

class Prepend final : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}
  void apply(MarkedText& text) const override {
    if (text.text.empty()) return;
    if (text.marked()) text.marks.insert(0, prefix_.size(), text.marks[0]);
    text.text.insert(0, prefix_);
  }
  bool keeps(std::string_view text) const override { return text.empty(); }
  double most_bytes(double bytes) const override {
    return bytes + static_cast<double>(prefix_.size());
  }

 private:
  std::string prefix_;
};

}  // namespace

NormalizerPtr strip_normalizer(bool left, bool right) {
  return std::make_unique<Strip>(left, right);
}
NormalizerPtr prepend_normalizer(std::string prefix) {
  return std::make_unique<Prepend>(std::move(prefix));
}

}  // namespace o3::text
