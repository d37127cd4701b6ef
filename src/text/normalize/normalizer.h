// SPDX-License-Identifier: Apache-2.0
// Normalizers: what is done to text before it is cut and encoded. Immutable, shared by threads.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/regex/regex.h"
#include "text/unicode/normalization.h"

namespace o3::text {

// Well-formed text whose bytes may carry a mark: the author of each character is followed through
// normalization, so that control tokens are matched in trusted characters only.
struct MarkedText {
  std::string text;
  std::string marks;  // one '\1' or '\0' per byte; empty: nobody asks

  bool marked() const noexcept { return !marks.empty(); }
  void append(std::string_view bytes, bool mark, bool keep_marks) {
    text += bytes;
    if (keep_marks) marks.append(bytes.size(), mark ? '\1' : '\0');
  }
  // All of [begin, end) is marked.
  bool all(size_t begin, size_t end) const noexcept {
    return std::string_view(marks).substr(begin, end - begin).find('\0') == std::string_view::npos;
  }
};

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(MarkedText& text) const = 0;
  // True: apply() would change nothing; false: it may.
  virtual bool keeps(std::string_view /*text*/) const { return false; }
  // What a text of so many bytes becomes at most: what would make texts huge is refused.
  virtual double most_bytes(double bytes) const { return bytes; }
};
using NormalizerPtr = std::unique_ptr<Normalizer>;

NormalizerPtr normalizer_sequence(std::vector<NormalizerPtr> steps);
NormalizerPtr unicode_normalizer(NormalForm form);
NormalizerPtr lowercase_normalizer();
NormalizerPtr strip_accents_normalizer();               // leaves out marks; decomposes nothing
NormalizerPtr strip_normalizer(bool left, bool right);  // white space
NormalizerPtr prepend_normalizer(std::string prefix);   // not to an empty text
NormalizerPtr replace_normalizer(Regex pattern, std::string content);
NormalizerPtr replace_text_normalizer(std::string pattern, std::string content);
NormalizerPtr nmt_normalizer();         // some controls go, others and odd spaces become spaces
NormalizerPtr byte_level_normalizer();  // writes bytes in the byte alphabet

struct BertNormalization {
  bool clean_text = true;            // white space becomes spaces, controls go
  bool handle_chinese_chars = true;  // spaces around ideographs
  bool strip_accents = true;
  bool lowercase = true;
};
NormalizerPtr bert_normalizer(const BertNormalization& options);

}  // namespace o3::text
