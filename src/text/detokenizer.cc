// SPDX-License-Identifier: Apache-2.0
#include "text/detokenizer.h"

#include <span>

#include "text/unicode/utf8.h"

namespace o3::text {

void Utf8Stream::push(std::string_view bytes, std::string& out) {
  std::string joined;
  if (!pending_.empty()) {
    joined = pending_;
    joined += bytes;
    bytes = joined;
    pending_.clear();
  }
  while (!bytes.empty()) {
    const Utf8Unit unit = next_utf8_unit(bytes);
    if (unit.truncated) {
      pending_ = bytes;
      return;
    }
    out += unit.well_formed ? bytes.substr(0, unit.bytes) : kReplacementCharacter;
    bytes.remove_prefix(unit.bytes);
  }
}

void Utf8Stream::flush(std::string& out) {
  // What waits is the beginning of one code point: one maximal subpart.
  if (!pending_.empty()) out += kReplacementCharacter;
  pending_.clear();
}

std::string decode(const Tokenizer& tokenizer, std::span<const Token> tokens, bool show_control) {
  return repaired_utf8(tokenizer.join(tokens, show_control));
}

}  // namespace o3::text
