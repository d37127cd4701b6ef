// SPDX-License-Identifier: Apache-2.0
// Any tokenizer.json: refused, or a tokenizer that keeps its promises on some text.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "text/detokenizer.h"
#include "text/hf/tokenizer_json.h"
#include "text/testing/mixed_trust.h"
#include "text/unicode/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using o3::text::SpecialTokens;
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const auto loaded = o3::text::load_tokenizer_json(json);
  if (!loaded.ok()) {
    O3_CHECK(!loaded.error().message.empty(), "an error says something");
    return 0;
  }
  const o3::text::Tokenizer& tokenizer = **loaded;
  for (const o3::Token token : tokenizer.frame().before) {
    O3_CHECK(token >= 0 && token < tokenizer.vocabulary_size(), "frames hold tokens");
  }
  // The end of the file as text: it holds pieces of the vocabulary.
  const std::string text =
      "Hello, w\xC3\xB6rld <|end|> 123  " + std::string(json.substr(size - size / 4));
  const auto plain = tokenizer.encode(text, SpecialTokens::kPlain);
  if (!plain.ok()) return 0;
  for (const o3::Token token : *plain) {
    O3_CHECK(!tokenizer.is_control(token) || token == tokenizer.unknown(),
             "plain text makes no control token");
    O3_CHECK(token >= 0 && token < tokenizer.vocabulary_size(), "tokens are in the vocabulary");
  }
  const auto parsed = tokenizer.encode(text, SpecialTokens::kParse);
  if (!parsed.ok()) return 0;
  const std::vector<o3::Token>& tokens = *parsed;
  (void)tokenizer.encode(text, SpecialTokens::kPlainSpecial);
  o3::text::check_mixed_trust(tokenizer, text);
  O3_CHECK(o3::text::is_utf8(o3::text::decode(tokenizer, tokens, true)), "text is well-formed");
  o3::text::Detokenizer stream(tokenizer, true);
  std::string streamed;
  for (const o3::Token token : tokens) stream.push(token, streamed);
  stream.flush(streamed);
  O3_CHECK(o3::text::is_utf8(streamed), "a stream is well-formed");
  O3_CHECK(tokenizer.streams() || streamed == o3::text::decode(tokenizer, tokens, true),
           "what does not stream comes whole");
  return 0;
}
