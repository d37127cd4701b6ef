// SPDX-License-Identifier: Apache-2.0
// Text <-> token ids. A tokenizer is immutable after construction and safe to share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace o3::text {

// A piece of prompt text with its origin. Only template-owned text may become control (special or
// added) tokens; ordinary BPE runs over the concatenation as if unmarked.
struct Segment {
  std::string text;
  bool trusted = false;  // owned by the template (or by the operator), not by a message's author
};

enum class SpecialTokens : uint8_t {
  kParse,         // texts of added tokens become those tokens
  kPlainSpecial,  // those not marked special do (Hugging Face's encode_special_tokens)
  kPlain,         // everything is ordinary text
};

// Of one text: as it is given, repaired, and at every step of its normalization. Positions in it
// are 32 bits wide, with room for what the steps behind make of it.
inline constexpr size_t kMaxTextBytes = (1u << 30) - 1;

// What bounded encoding gives.
struct BoundedTokens {
  std::vector<Token> tokens;  // all of them if `fits`, else those made before it was clear
  size_t at_least = 0;        // how many there are, exactly so if `fits`
  bool fits = true;
};

// What a post-processor puts around one text: [CLS] and [SEP], or BOS.
struct Frame {
  std::vector<Token> before;
  std::vector<Token> after;
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual int32_t vocabulary_size() const noexcept = 0;
  virtual std::optional<Token> bos() const noexcept = 0;
  virtual std::optional<Token> eos() const noexcept = 0;
  virtual bool adds_bos() const noexcept = 0;
  // For who wants the tokens that the model's makers put around a text; encode() adds none of them.
  virtual Frame frame() const { return {}; }
  // Special or added, and nothing that ordinary text becomes by itself (Gemma's runs of spaces).
  virtual bool is_control(Token token) const noexcept = 0;
  // Of text that no other token covers, in models that have one: plain text can become it.
  virtual std::optional<Token> unknown() const noexcept { return std::nullopt; }
  virtual std::optional<Token> find(
      std::string_view piece_text) const = 0;  // exact vocabulary entry

  // Adds no BOS/EOS. Ill-formed UTF-8 is taken as U+FFFD per maximal subpart. A byte for which the
  // vocabulary has no token is left out, as in the reference implementations. kTooLong: more than
  // kMaxTextBytes.
  virtual Result<std::vector<Token>> encode(std::string_view text,
                                            SpecialTokens specials) const = 0;
  // Control tokens arise only where their whole text lies in trusted characters.
  virtual Result<std::vector<Token>> encode(std::span<const Segment> segments) const = 0;
  // The same, but may stop as soon as it is clear that there are more than `most`: what a caller
  // has no room for need not be paid for.
  virtual Result<BoundedTokens> encode_at_most(std::span<const Segment> segments,
                                               size_t most) const {
    O3_ASSIGN(std::vector<Token> tokens, encode(segments));
    const size_t count = tokens.size();
    return BoundedTokens{.tokens = std::move(tokens), .at_least = count, .fits = count <= most};
  }

  // Raw bytes of one token (may be part of a code point). Control tokens give their text when
  // `show_control`, else nothing; user-defined tokens ("<think>" in some models) are visible text.
  // Out-of-range ids give nothing.
  virtual std::string_view bytes(Token token, bool show_control) const noexcept = 0;
  // False: what tokens say depends on their neighbours, so a text is known only as a whole.
  virtual bool streams() const noexcept { return true; }
  // Raw bytes of a whole text. Some tokenizers write its first token otherwise than bytes() does,
  // which always gives the space before a word.
  virtual std::string join(std::span<const Token> tokens, bool show_control) const {
    std::string out;
    for (const Token token : tokens) out += bytes(token, show_control);
    return out;
  }
};

// Whole-sequence decode; ill-formed bytes become one U+FFFD per maximal subpart (Unicode 3.9).
std::string decode(const Tokenizer& tokenizer, std::span<const Token> tokens, bool show_control);

}  // namespace o3::text
