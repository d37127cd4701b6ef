// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "text/tokenizer.h"

namespace o3::text {

// Turns a stream of bytes into well-formed UTF-8 pieces: never half a code point, emitted as soon
// as the bytes are complete, one U+FFFD per maximal ill-formed subpart. At most 3 bytes are held
// back.
class Utf8Stream {
 public:
  void push(std::string_view bytes, std::string& out);  // appends what is complete to out
  void flush(std::string& out);                         // the incomplete tail becomes U+FFFD
  bool incomplete() const noexcept { return !pending_.empty(); }

 private:
  std::string pending_;
};

// Incremental detokeniser of one choice. Where tokens depend on their neighbours (see
// Tokenizer::streams) the text comes whole, with the flush.
class Detokenizer {
 public:
  explicit Detokenizer(const Tokenizer& tokenizer, bool show_control = false)
      : tokenizer_(&tokenizer), show_control_(show_control) {}
  void push(Token token, std::string& out) {
    if (!tokenizer_->streams()) return held_.push_back(token);
    stream_.push(tokenizer_->bytes(token, show_control_), out);
  }
  void flush(std::string& out) {
    if (!held_.empty()) out += decode(*tokenizer_, held_, show_control_);
    held_.clear();
    stream_.flush(out);
  }
  // Bytes of a code point that is not complete, or whole tokens, are held back.
  bool incomplete() const noexcept { return stream_.incomplete() || !held_.empty(); }

 private:
  const Tokenizer* tokenizer_;
  bool show_control_;
  std::vector<Token> held_;
  Utf8Stream stream_;
};

}  // namespace o3::text
