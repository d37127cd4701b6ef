// SPDX-License-Identifier: Apache-2.0
// Normalizers that see one character at a time, and BERT's, which is made of such.
#include <algorithm>
#include <utility>

#include "text/byte_alphabet.h"
#include "text/normalize/each_character.h"
#include "text/normalize/normalizer.h"
#include "text/unicode/category.h"
#include "text/unicode/reference_classes.h"
#include "text/unicode/utf8.h"

namespace o3::text {
namespace {

// One character at a time: appends what it becomes.
template <class Map>
class PerChar final : public Normalizer {
 public:
  PerChar(double growth, Map map) : growth_(growth), map_(std::move(map)) {}
  double most_bytes(double bytes) const override { return bytes * growth_; }
  void apply(MarkedText& text) const override {
    MarkedText out;
    out.text.reserve(text.text.size());
    for_each_character(text, [&](char32_t code, std::string_view bytes, bool mark) {
      const size_t before = out.text.size();
      map_(code, bytes, out.text);
      if (text.marked()) out.marks.append(out.text.size() - before, mark ? '\1' : '\0');
    });
    text = std::move(out);
  }

 private:
  double growth_;
  Map map_;
};

template <class Map>
NormalizerPtr per_char(double growth, Map map) {
  return std::make_unique<PerChar<Map>>(growth, std::move(map));
}

constexpr std::pair<char32_t, char32_t> kIdeographs[] = {
    {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},  {0x20000, 0x2A6DF},
    {0x2A700, 0x2B81F}, {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F}};

bool is_ideograph(char32_t code) noexcept {
  return std::any_of(std::begin(kIdeographs), std::end(kIdeographs), [code](const auto& range) {
    return code >= range.first && code <= range.second;
  });
}

}  // namespace

NormalizerPtr lowercase_normalizer() {
  return per_char(1.5, [](char32_t code, std::string_view, std::string& out) {
    append_reference_lower(code, out);
  });
}
NormalizerPtr strip_accents_normalizer() {
  return per_char(1, [](char32_t code, std::string_view bytes, std::string& out) {
    if (!is_reference_combining(code)) out += bytes;
  });
}

NormalizerPtr nmt_normalizer() {
  return per_char(1, [](char32_t code, std::string_view bytes, std::string& out) {
    const auto in = [code](auto... list) { return ((code == char32_t(list)) || ...); };
    const bool goes =
        (code >= 0x1 && code <= 0x8) || (code >= 0xE && code <= 0x1F) || in(0xB, 0x7F, 0x8F, 0x9F);
    const bool space = (code >= 0x200B && code <= 0x200F) ||
                       in(0x9, 0xA, 0xC, 0xD, 0x1680, 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD);
    if (!goes) out += space ? " " : bytes;
  });
}

NormalizerPtr byte_level_normalizer() {
  return per_char(2, [](char32_t, std::string_view bytes, std::string& out) {
    for (const char c : bytes) append_utf8(alphabet_character(static_cast<uint8_t>(c)), out);
  });
}

NormalizerPtr bert_normalizer(const BertNormalization& options) {
  std::vector<NormalizerPtr> steps;
  if (options.clean_text) {
    steps.push_back(per_char(1, [](char32_t code, std::string_view bytes, std::string& out) {
      if (is_reference_unclean(code)) return;
      out += is_white_space(code) ? " " : bytes;
    }));
  }
  if (options.handle_chinese_chars) {
    steps.push_back(per_char(2, [](char32_t code, std::string_view bytes, std::string& out) {
      const bool wide = is_ideograph(code);
      if (wide) out += ' ';
      out += bytes;
      if (wide) out += ' ';
    }));
  }
  if (options.strip_accents) {
    steps.push_back(unicode_normalizer(NormalForm::kNfd));
    steps.push_back(per_char(1, [](char32_t code, std::string_view bytes, std::string& out) {
      if (!is_reference_accent(code)) out += bytes;
    }));
  }
  if (options.lowercase) steps.push_back(lowercase_normalizer());
  return normalizer_sequence(std::move(steps));
}

}  // namespace o3::text
