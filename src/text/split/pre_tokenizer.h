// SPDX-License-Identifier: Apache-2.0
// Pre-tokenizers: cut text into the pieces within which a model works. Immutable, shared by
// threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/regex/regex.h"

namespace o3::text {

// A text and its pieces: ranges in order, none empty, that need not cover it.
struct Pieces {
  struct Range {
    uint32_t begin;
    uint32_t end;
  };
  std::string_view text;  // below 4 GiB
  std::vector<Range> ranges;
  std::string owned;  // what `text` views once a step has changed it
  std::vector<Range> scratch;
  bool at_origin = false;  // the text begins where the whole input does
  bool mapped = false;     // written in the byte alphabet

  std::string_view at(Range range) const noexcept {
    return text.substr(range.begin, range.end - range.begin);
  }
};

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(Pieces& pieces) const = 0;
  // Reads Pieces::at_origin.
  virtual bool asks_origin() const { return false; }
  // How many bytes one byte becomes at most (see Normalizer).
  virtual double growth() const { return 1; }
};
using PreTokenizerPtr = std::unique_ptr<PreTokenizer>;

// What becomes of a match (between them stand gaps, which are pieces too).
enum class SplitBehavior : uint8_t {
  kRemoved,             // it goes
  kIsolated,            // a piece of its own
  kMergedWithPrevious,  // part of the gap before it
  kMergedWithNext,      // part of the gap behind it
  kContiguous,          // neighbouring matches are one piece
};

PreTokenizerPtr pre_tokenizer_sequence(std::vector<PreTokenizerPtr> steps);
// Inverted: gaps and matches change roles.
PreTokenizerPtr regex_split(Regex pattern, SplitBehavior behavior, bool invert);
// Puts `replacement` for spaces and in front of each piece (of the first at the origin only, or of
// none) that does not begin with it; cuts before each replacement if `split`.
enum class Prepend : uint8_t { kAlways, kFirst, kNever };
PreTokenizerPtr metaspace(std::string replacement, Prepend prepend, bool split);
// A space in front of each piece that does not begin with one.
PreTokenizerPtr prefix_space();
// Between characters of different scripts.
PreTokenizerPtr script_split();
// Behind every so many characters, at least one.
PreTokenizerPtr fixed_length_split(size_t characters);
// Writes the text in the byte alphabet: for steps that must see it so.
PreTokenizerPtr byte_alphabet();

}  // namespace o3::text
