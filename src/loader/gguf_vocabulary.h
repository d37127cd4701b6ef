// SPDX-License-Identifier: Apache-2.0
// A tokenizer.json in the terms of tokenizer.ggml.*, for programs that know only these.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/gguf/gguf_writer.h"
#include "base/result.h"
#include "text/tokenizer.h"
#include "text/tokenizer_spec.h"

namespace o3::loader {

struct GgufVocabulary {
  std::string model;  // "gpt2" or "llama"
  std::string pre;    // of "gpt2"
  std::vector<std::string> tokens;
  std::vector<int32_t> kinds;       // text::TokenKind
  std::vector<std::string> merges;  // of "gpt2"
  std::vector<float> scores;        // of "llama"
  std::optional<Token> bos;
  std::optional<Token> eos;
  std::optional<Token> unknown;
  bool add_bos = false;
  bool add_space_prefix = false;  // of "llama"

  text::TokenizerSpec spec() const;  // views of this
  void add_to(artifact::GgufWriter& writer) const;
};

// `json` is the text of a tokenizer.json and `tokenizer` what was loaded from it; `ends` ends a
// text where the tokenizer names nothing. `rows` of the embedding: ids without a token are filled
// up to there. kUnsupported: GGUF has no words for it. Whether it has is found out by trying:
// what the keys say must cut a page of text of every kind into the same tokens.
Result<GgufVocabulary> gguf_vocabulary(std::string_view json, const text::Tokenizer& tokenizer,
                                       std::optional<Token> end, int64_t rows);

}  // namespace o3::loader
