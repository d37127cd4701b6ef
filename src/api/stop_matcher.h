// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace o3::api {

// Finds the end of a text that ends before the first of some stop strings (or behind it). The first
// is the one whose last byte comes earliest (of several that end there, the longest), so that the
// result does not depend on how the text is cut into pieces. Holds back only what may still become
// a stop string: the longest suffix that is a proper prefix of one (Knuth, Morris, Pratt, 1977).
class StopMatcher {
 public:
  // Stop strings are not empty and valid UTF-8; then every released piece of valid UTF-8 ends at a
  // code point's border. `include`: the text ends behind the stop string.
  explicit StopMatcher(std::vector<std::string> stops, bool include = false);

  // Appends to `out` what is certain to stand before a stop string. True: one was found; what
  // follows it is dropped and the text is complete.
  bool push(std::string_view text, std::string& out);
  void flush(std::string& out);  // the text has ended: nothing is held back any more
  bool found() const noexcept { return found_ != nullptr; }
  const std::string& stop() const noexcept { return found_->text; }  // the one that was found

 private:
  struct Pattern {
    std::string text;
    std::vector<size_t> fallback;  // of each length: the longest proper border
    size_t matched = 0;            // bytes of text that the input ends with
    void advance(char byte);
  };

  const Pattern* advance(char byte);

  std::vector<Pattern> patterns_;  // the order never changes: found_ is one of them
  std::string held_;
  const Pattern* found_ = nullptr;
  bool include_;
};

}  // namespace o3::api
