// SPDX-License-Identifier: Apache-2.0
// A tokenizer from any GGUF file: refused, or one that keeps its promises on some text.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/check.h"
#include "loader/gguf_tokenizer.h"
#include "text/testing/mixed_trust.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using o3::artifact::GgufFile;
  using o3::text::SpecialTokens;
  const auto file = GgufFile::parse(std::as_bytes(std::span(data, size)), "fuzz.gguf");
  if (!file.ok()) return 0;
  const auto loaded = o3::loader::load_gguf_tokenizer(*file);
  if (!loaded.ok()) {
    O3_CHECK(!loaded.error().message.empty(), "an error says something");
    return 0;
  }
  const o3::text::Tokenizer& tokenizer = **loaded;
  // The file's own bytes are as good a text as any; they hold pieces of the vocabulary.
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto plain = tokenizer.encode(text, SpecialTokens::kPlain);
  if (!plain.ok()) return 0;
  for (const o3::Token token : *plain) {
    O3_CHECK(!tokenizer.is_control(token) || token == tokenizer.unknown(),
             "plain text makes no control token");
    O3_CHECK(token >= 0 && token < tokenizer.vocabulary_size(), "tokens are in the vocabulary");
  }
  const auto tokens = tokenizer.encode(text, SpecialTokens::kParse);
  if (!tokens.ok()) return 0;
  (void)o3::text::decode(tokenizer, *tokens, true);
  o3::text::check_mixed_trust(tokenizer, text);
  for (o3::Token token = -1; token <= tokenizer.vocabulary_size(); ++token) {
    const auto bytes = tokenizer.bytes(token, true);
    O3_CHECK(bytes.size() < (1u << 30), "the bytes of every id can be asked for");
  }
  return 0;
}
