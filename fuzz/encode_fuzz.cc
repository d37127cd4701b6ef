// SPDX-License-Identifier: Apache-2.0
// Any segments of any bytes: encoding loses nothing, trusts nobody it should not, and streaming
// gives the text of the whole. Bytes FE and FF in the input begin a new segment, untrusted and
// trusted. The kinds of models and normalizers take turns over the same text.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "text/detokenizer.h"
#include "text/testing/mixed_trust.h"
#include "text/testing/small_tokenizers.h"
#include "text/unicode/utf8.h"

namespace {

using o3::Token;
using o3::text::Segment;
using o3::text::SpecialTokens;
using o3::text::Tokenizer;

bool all_one(const std::vector<Segment>& segments, bool trusted) {
  for (const Segment& segment : segments) {
    if (segment.trusted != trusted) return false;
  }
  return true;
}

void check(const Tokenizer& tokenizer, const std::vector<Segment>& segments,
           const std::string& whole) {
  const auto tokens = tokenizer.encode(segments);
  O3_CHECK(tokens.ok(), "a short text has tokens");
  const auto parsed = tokenizer.encode(whole, SpecialTokens::kParse);
  const auto plain = tokenizer.encode(whole, SpecialTokens::kPlain);
  O3_CHECK(!all_one(segments, true) || *tokens == *parsed, "all trusted = parsed");
  O3_CHECK(!all_one(segments, false) || *tokens == *plain, "none trusted = plain");
  O3_CHECK(!o3::text::makes_control(tokenizer, *plain), "untrusted text makes no control token");
  o3::text::check_mixed_trust(tokenizer, whole);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const o3::text::SmallTokenizers kTokenizers;
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
  const Tokenizer& bytes = *kTokenizers.byte_level;
  const std::string repaired = o3::text::repaired_utf8(whole);
  const auto tokens = bytes.encode(segments);
  O3_CHECK(tokens.ok() && o3::text::decode(bytes, *tokens, true) == repaired, "nothing is lost");
  for (const Tokenizer* tokenizer : kTokenizers.all()) check(*tokenizer, segments, whole);
  o3::text::Utf8Stream stream;
  std::string streamed;
  for (const char c : whole) stream.push({&c, 1}, streamed);
  stream.flush(streamed);
  O3_CHECK(streamed == repaired, "the stream gives the text of the whole");
  return 0;
}
