// SPDX-License-Identifier: Apache-2.0
// What a GGUF file says about its tokenizer. The views need to live only while load_tokenizer()
// runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "text/tokenizer.h"

namespace o3::text {

// Numbers as in GGUF's tokenizer.ggml.token_type.
enum class TokenKind : uint8_t {
  kAbsent = 0,  // no token has this id
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,  // added by hand: matched as a whole like control tokens, but visible text
  kUnused = 5,
  kByte = 6,   // "<0x0A>": one byte
  kAdded = 7,  // as user-defined, but unknown to the model; in no file
};

struct TokenizerSpec {
  std::string model;                     // "gpt2": byte-level BPE; "llama", "gemma4", "bert", "t5"
  std::string pre;                       // the pre-tokeniser of "gpt2": "smollm"
  std::vector<std::string_view> tokens;  // by id; byte-level alphabet for "gpt2"
  // TokenKind by id; empty: all normal. Whatever stands there, bos, eos, ends and what texts like
  // "<|im_end|>" name are control tokens.
  std::vector<int32_t> kinds;
  std::vector<std::string_view> merges;  // "left right", best first
  std::vector<float> scores;             // by id: log probabilities; "llama", "t5"
  std::optional<Token> bos;
  std::optional<Token> eos;
  std::optional<Token> unknown;
  std::vector<Token> ends;  // more ids that end a turn or a message
  bool add_bos = false;
  bool add_space_prefix = true;         // "llama", "t5"
  std::span<const std::byte> charsmap;  // "t5": precompiled normalization rules
};

// kUnsupported lists the known models or pre-tokenisers; kInvalid says what contradicts what.
Result<std::unique_ptr<Tokenizer>> load_tokenizer(const TokenizerSpec& spec);

}  // namespace o3::text
