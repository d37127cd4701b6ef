// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

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

 private:
  std::string pending_;
};

// Incremental detokeniser of one choice.
class Detokenizer {
 public:
  explicit Detokenizer(const Tokenizer& tokenizer, bool show_control = false)
      : tokenizer_(&tokenizer), show_control_(show_control) {}
  void push(Token token, std::string& out) {
    stream_.push(tokenizer_->bytes(token, show_control_), out);
  }
  void flush(std::string& out) { stream_.flush(out); }

 private:
  const Tokenizer* tokenizer_;
  bool show_control_;
  Utf8Stream stream_;
};

}  // namespace o3::text
