// SPDX-License-Identifier: Apache-2.0
// Any segments of any bytes: encoding loses nothing, trusts nobody it should not, and streaming
// gives the text of the whole. Bytes FE and FF in the input begin a new segment, untrusted and
// trusted.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "text/detokenizer.h"
#include "text/testing/synthetic_vocabulary.h"
#include "text/unicode/utf8.h"

namespace {

using o3::Token;
using o3::text::Segment;
using o3::text::SpecialTokens;
using o3::text::TokenKind;

std::unique_ptr<o3::text::Tokenizer> make_tokenizer() {
  o3::text::SyntheticVocabulary source({{"<|e|>", TokenKind::kControl},
                                        {"<|e|>>", TokenKind::kControl},
                                        {"<e>", TokenKind::kUserDefined}});
  source.merge("e", "e");
  source.merge("<", "|");
  source.merge(" ", "ee");
  source.merge("|", ">");
  source.merge("\xC3", "\xA9");
  return *o3::text::load_tokenizer(source.spec());
}

bool all_one(const std::vector<Segment>& segments, bool trusted) {
  for (const Segment& segment : segments) {
    if (segment.trusted != trusted) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::unique_ptr<o3::text::Tokenizer> kTokenizer = make_tokenizer();
  std::vector<Segment> segments(1);
  std::string whole;
  for (size_t i = 0; i < size; ++i) {
    if (data[i] >= 0xFE) {
      segments.push_back({"", data[i] == 0xFF});
    } else {
      segments.back().text += static_cast<char>(data[i]);
      whole += static_cast<char>(data[i]);
    }
  }
  const std::vector<Token> tokens = kTokenizer->encode(segments);
  const std::string repaired = o3::text::repaired_utf8(whole);
  O3_CHECK(o3::text::decode(*kTokenizer, tokens, true) == repaired, "nothing is lost");
  if (all_one(segments, true)) {
    O3_CHECK(tokens == kTokenizer->encode(whole, SpecialTokens::kParse), "all trusted = parsed");
  }
  if (all_one(segments, false)) {
    O3_CHECK(tokens == kTokenizer->encode(whole, SpecialTokens::kPlain), "none trusted = plain");
    for (const Token token : tokens) {
      O3_CHECK(!kTokenizer->is_control(token), "untrusted text makes no control token");
    }
  }
  o3::text::Utf8Stream stream;
  std::string streamed;
  for (const char c : whole) stream.push({&c, 1}, streamed);
  stream.flush(streamed);
  O3_CHECK(streamed == repaired, "the stream gives the text of the whole");
  return 0;
}
