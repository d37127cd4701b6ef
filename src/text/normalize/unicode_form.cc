// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "text/normalize/each_character.h"
#include "text/normalize/normalizer.h"

namespace o3::text {
namespace {

class UnicodeForm final : public Normalizer {
 public:
  explicit UnicodeForm(NormalForm form) : form_(form) {}
  bool keeps(std::string_view text) const override { return is_surely_normal(text, form_); }
  double most_bytes(double bytes) const override {  // the worst: U+FDFA is 18 letters
    return bytes * (form_ == NormalForm::kNfc || form_ == NormalForm::kNfd ? 3 : 11);
  }
  void apply(MarkedText& text) const override {
    std::vector<MarkedChar> chars;
    chars.reserve(text.text.size());
    for_each_character(text, [&](char32_t code, std::string_view, bool mark) {
      chars.push_back({code, mark, 0});
    });
    normalize(chars, form_);
    MarkedText out;
    for (const MarkedChar& c : chars) {
      const size_t before = out.text.size();
      append_utf8(c.code, out.text);
      if (text.marked()) out.marks.append(out.text.size() - before, c.mark ? '\1' : '\0');
    }
    text = std::move(out);
  }

 private:
  NormalForm form_;
};

}  // namespace

NormalizerPtr unicode_normalizer(NormalForm form) {
  return std::make_unique<UnicodeForm>(form);
}

}  // namespace o3::text
