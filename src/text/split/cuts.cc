// SPDX-License-Identifier: Apache-2.0
// Pre-tokenizers that cut by what characters are or by their number.
#include <optional>

#include "text/split/pre_tokenizer.h"
#include "text/unicode/reference_scripts.h"
#include "text/unicode/utf8.h"

namespace o3::text {
namespace {

// Cuts pieces where `begins(code)` says so, asked for each character of a piece from the left.
template <class Begins>
void cut_before(Pieces& pieces, Begins make_begins) {
  pieces.scratch.clear();
  for (const Pieces::Range range : pieces.ranges) {
    auto begins = make_begins();
    std::optional<uint32_t> open;
    for (uint32_t at = range.begin; at < range.end;) {
      const Utf8Unit unit = next_utf8_unit(pieces.text.substr(at));
      if (begins(unit.code)) {
        if (open) pieces.scratch.push_back({*open, at});
        open = at;
      }
      at += unit.bytes;
    }
    if (open) pieces.scratch.push_back({*open, range.end});
  }
  pieces.ranges.swap(pieces.scratch);
}

// What stands before the first character of a script goes, as in the reference.
class ScriptSplit final : public PreTokenizer {
 public:
  void apply(Pieces& pieces) const override {
    cut_before(pieces, [] {
      return [last = uint8_t{0}](char32_t code) mutable {
        const uint8_t script = reference_script(code);
        if (script == 0 || script == last) return false;
        last = script;
        return true;
      };
    });
  }
};

class FixedLength final : public PreTokenizer {
 public:
  explicit FixedLength(size_t characters) : characters_(characters) {}
  void apply(Pieces& pieces) const override {
    cut_before(pieces, [this] {
      return [this, count = size_t{0}](char32_t) mutable { return count++ % characters_ == 0; };
    });
  }

 private:
  size_t characters_;
};

}  // namespace

PreTokenizerPtr script_split() {
  return std::make_unique<ScriptSplit>();
}
PreTokenizerPtr fixed_length_split(size_t characters) {
  return std::make_unique<FixedLength>(characters);
}

}  // namespace o3::text
