// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "text/byte_alphabet.h"
#include "text/normalize/normalizer.h"
#include "text/unicode/category.h"
#include "text/unicode/reference_classes.h"
#include "text/unicode/utf8.h"

namespace o3::text {
namespace {

// Calls visit(code, bytes of it, mark) for each character.
template <class Visit>
void for_each_char(const MarkedText& in, Visit visit) {
  const std::string_view text = in.text;
  for (size_t at = 0; at < text.size();) {
    const Utf8Unit unit = next_utf8_unit(text.substr(at));
    visit(unit.code, text.substr(at, unit.bytes), in.marked() && in.marks[at] != 0);
    at += unit.bytes;
  }
}

class Sequence final : public Normalizer {
 public:
  explicit Sequence(std::vector<NormalizerPtr> steps) : steps_(std::move(steps)) {}
  void apply(MarkedText& text) const override {
    for (const NormalizerPtr& step : steps_) {
      if (!step->keeps(text.text)) step->apply(text);
    }
  }
  bool keeps(std::string_view text) const override {
    return std::all_of(steps_.begin(), steps_.end(),
                       [text](const NormalizerPtr& step) { return step->keeps(text); });
  }
  double most_bytes(double bytes) const override {
    double most = bytes;  // of any step: each holds a whole text
    for (const NormalizerPtr& step : steps_) {
      bytes = step->most_bytes(bytes);
      most = std::max(most, bytes);
    }
    return most;
  }

 private:
  std::vector<NormalizerPtr> steps_;
};

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
    for_each_char(text, [&](char32_t code, std::string_view, bool mark) {
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

// One character at a time: appends what it becomes.
template <class Map>
class PerChar final : public Normalizer {
 public:
  PerChar(double growth, Map map) : growth_(growth), map_(std::move(map)) {}
  double most_bytes(double bytes) const override { return bytes * growth_; }
  void apply(MarkedText& text) const override {
    MarkedText out;
    out.text.reserve(text.text.size());
    for_each_char(text, [&](char32_t code, std::string_view bytes, bool mark) {
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

class Strip final : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  void apply(MarkedText& in) const override {
    size_t begin = in.text.size();
    size_t end = 0;
    size_t at = 0;
    for_each_char(in, [&](char32_t code, std::string_view bytes, bool) {
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

constexpr std::pair<char32_t, char32_t> kIdeographs[] = {
    {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},  {0x20000, 0x2A6DF},
    {0x2A700, 0x2B81F}, {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F}};

bool is_ideograph(char32_t code) noexcept {
  return std::any_of(std::begin(kIdeographs), std::end(kIdeographs), [code](const auto& range) {
    return code >= range.first && code <= range.second;
  });
}

}  // namespace

NormalizerPtr normalizer_sequence(std::vector<NormalizerPtr> steps) {
  return std::make_unique<Sequence>(std::move(steps));
}
NormalizerPtr unicode_normalizer(NormalForm form) {
  return std::make_unique<UnicodeForm>(form);
}
NormalizerPtr strip_normalizer(bool left, bool right) {
  return std::make_unique<Strip>(left, right);
}
NormalizerPtr prepend_normalizer(std::string prefix) {
  return std::make_unique<Prepend>(std::move(prefix));
}
NormalizerPtr replace_normalizer(Regex pattern, std::string content) {
  return std::make_unique<Replace>(std::move(pattern), std::move(content));
}
NormalizerPtr replace_text_normalizer(std::string pattern, std::string content) {
  return std::make_unique<ReplaceText>(std::move(pattern), std::move(content));
}
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
