// SPDX-License-Identifier: Apache-2.0
// What a model file says about its tokenizer, whatever the file's format. The views need to live
// only while load_tokenizer() runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "text/tokenizer.h"

namespace o3::text {

// Numbers as in GGUF's tokenizer.ggml.token_type.
enum class TokenKind : uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,  // added by hand: matched as a whole like control tokens, but visible text
  kUnused = 5,
  kByte = 6,
};

struct TokenizerSpec {
  std::string model;                     // "gpt2": byte-level BPE
  std::string pre;                       // the pre-tokeniser: "smollm"
  std::vector<std::string_view> tokens;  // by id; byte-level alphabet for "gpt2"
  std::vector<int32_t> kinds;            // TokenKind by id; empty: all normal but bos and eos
  std::vector<std::string_view> merges;  // "left right", best first
  std::optional<Token> bos;
  std::optional<Token> eos;
  bool add_bos = false;
};

// kUnsupported lists the known models or pre-tokenisers; kInvalid says what contradicts what.
Result<std::unique_ptr<Tokenizer>> load_tokenizer(const TokenizerSpec& spec);

}  // namespace o3::text
