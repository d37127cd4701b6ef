// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/regex/regex.h"

namespace o3::text {

// How texts of tokens become text again: the decoders of tokenizer.json in their order, first those
// that see one token at a time, then, behind a fusion of all tokens, those that see the whole text.
class TokenDecoder {
 public:
  struct Step {
    enum class Kind : unsigned char {
      kByteLevel,     // byte alphabet to bytes; fuses
      kByteFallback,  // "<0x0A>" to a byte
      kFuse,
      kReplace,    // `a`, or what `regex` finds, by `b`
      kStrip,      // up to `left` and `right` times the text `a` at the two ends
      kMetaspace,  // `a` by a space; in the first token by nothing if `flag`
      kWordPiece,  // a space before each token that does not begin with `a`; `flag`: clean up
      kBpe,        // `a`, which ends words, by a space; in the last token by nothing
      kCtc,        // a repeated token counts once; `a` goes; `flag`: clean up, `b` is a space
      kSpaces,     // no decoder: a space between tokens
    };
    Kind kind;
    std::string a;
    std::string b;
    size_t left = 0;
    size_t right = 0;
    bool flag = false;
    std::shared_ptr<const Regex> regex = nullptr;
  };

  TokenDecoder() = default;
  explicit TokenDecoder(std::vector<Step> steps);

  // The bytes of one token, the first of a text or a later one that is not the last.
  std::string piece(std::string_view token, bool first) const;
  // What remains to be done to all pieces in a row.
  void finish(std::string& text) const;
  // A whole text, of tokens that may depend on their neighbours; includes what finish() does.
  std::string join(std::vector<std::string> tokens) const;

  // The first piece is like the others, and finish() does nothing.
  bool is_positionless() const noexcept;
  // Pieces alone do not make the text: join() does.
  bool asks_neighbours() const noexcept;
  // Pieces in a row are the text, but for space at its ends.
  bool streams() const noexcept;
  // How many bytes one byte of a token becomes at most.
  double growth() const noexcept;
  // Nothing but the byte alphabet.
  bool is_byte_level() const noexcept;

 private:
  std::vector<Step> single_;
  std::vector<Step> whole_;
};

}  // namespace o3::text
