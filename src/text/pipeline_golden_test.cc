// SPDX-License-Identifier: Apache-2.0
// Small tokenizers of every kind against Hugging Face's `tokenizers`
// (tools/golden/tokenizer_small.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "text/detokenizer.h"
#include "text/hf/tokenizer_json.h"
#include "text/testing/small_tokenizers.h"
#include "text/unicode/utf8.h"

namespace o3::text {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class SmallTokenizer : public ::testing::TestWithParam<std::string> {
 protected:
  fs::path file(const char* extension) const {
    return fs::path(O3_SOURCE_DIR "/tests/golden/tokenizer/small") / (GetParam() + extension);
  }
};

TEST_P(SmallTokenizer, EqualsTheReference) {
  const auto loaded = load_tokenizer_json(read(file(".json")));
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const Tokenizer& tokenizer = **loaded;
  std::ifstream golden(file(".jsonl"));
  int lines = 0;
  for (std::string line; std::getline(golden, line); ++lines) {
    const auto row = nlohmann::json::parse(line);
    const auto text = row[0].get<std::string>();
    const auto ids = row[1].get<std::vector<Token>>();
    ASSERT_EQ(*tokenizer.encode(text, SpecialTokens::kParse), ids) << text;
    ASSERT_EQ(*tokenizer.encode(text, SpecialTokens::kPlainSpecial),
              row[2].get<std::vector<Token>>())
        << text;
    const std::string decoded = decode(tokenizer, ids, true);
    if (row[3].is_string()) {
      ASSERT_EQ(decoded, row[3].get<std::string>()) << text;
    }
    // A stream gives the same but for the space in front.
    std::string streamed;
    Detokenizer stream(tokenizer, true);
    for (const Token id : ids) stream.push(id, streamed);
    stream.flush(streamed);
    if (!streamed.empty() && streamed != decoded) {
      ASSERT_EQ(streamed.substr(streamed[0] == ' ' ? 1 : 0), decoded) << text;
    }
    // Whoever owns nothing makes no control token.
    const auto plain = tokenizer.encode(text, SpecialTokens::kPlain);
    for (const Token token : *plain) {
      ASSERT_TRUE(!tokenizer.is_control(token) || token == tokenizer.unknown()) << text;
    }
    ASSERT_EQ(*tokenizer.encode(std::vector<Segment>{{text, true}}), ids) << text;
    ASSERT_EQ(*tokenizer.encode(std::vector<Segment>{{text, false}}),
              *tokenizer.encode(text, SpecialTokens::kPlain))
        << text;
  }
  EXPECT_GE(lines, 500);
}

// Whatever ids: pieces are text, never half a character, and together what the whole is, but for
// the space in front; or (WordPiece, whose texts do not begin with "##n") what they are behind
// another token. A piece comes as soon as its bytes are complete.
void expect_stream_equals_whole(const Tokenizer& tokenizer, const std::vector<Token>& ids,
                                bool show_control) {
  Detokenizer stream(tokenizer, show_control);
  std::string streamed;
  std::string bytes;
  for (const Token id : ids) {
    std::string piece;
    stream.push(id, piece);
    ASSERT_TRUE(is_utf8(piece)) << id;
    bytes += tokenizer.bytes(id, show_control);
    streamed += piece;
    if (tokenizer.streams() && !stream.incomplete()) {
      ASSERT_EQ(streamed, repaired_utf8(bytes)) << id;
    }
  }
  stream.flush(streamed);
  const std::string whole = decode(tokenizer, ids, show_control);
  if (streamed == whole || streamed == ' ' + whole) return;
  std::vector<Token> behind = {tokenizer.find("s").value()};
  behind.insert(behind.end(), ids.begin(), ids.end());
  ASSERT_EQ("s" + streamed, decode(tokenizer, behind, show_control)) << nlohmann::json(ids);
}

void expect_streams(const Tokenizer& tokenizer) {
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    std::vector<Token> ids(random() % 12);
    for (Token& id : ids) {
      id = static_cast<Token>(random() % static_cast<uint32_t>(tokenizer.vocabulary_size()));
    }
    expect_stream_equals_whole(tokenizer, ids, round % 2 == 0);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST_P(SmallTokenizer, AStreamEqualsTheWholeForAnyIds) {
  const auto loaded = load_tokenizer_json(read(file(".json")));
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  expect_streams(**loaded);
}

TEST(Streams, OfOtherTokenizersEqualTheWholeToo) {
  const SmallTokenizers tokenizers;
  for (const Tokenizer* tokenizer : tokenizers.all()) expect_streams(*tokenizer);
}

INSTANTIATE_TEST_SUITE_P(Kinds, SmallTokenizer,
                         ::testing::Values("llama3", "qwen", "falcon", "sentence_piece",
                                           "unknown_characters", "unigram", "bert_lower",
                                           "bert_cased"),
                         [](const auto& kind) { return kind.param; });

// "ab" stands in the vocabulary, and a whole piece that does so needs no merges. But it is added.
TEST(TokenizerJson, PlainTextNeverBecomesAnAddedToken) {
  const auto loaded = load_tokenizer_json(R"~({
      "added_tokens": [{"id": 2, "content": "ab"}, {"id": 3, "content": "ba"},
                       {"id": 0, "content": "a"}],
      "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
      "model": {"type": "BPE", "ignore_merges": true, "vocab": {"a": 0, "b": 1, "ab": 2},
                "merges": []}})~");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const Tokenizer& tokenizer = **loaded;
  EXPECT_EQ(*tokenizer.encode("ab", SpecialTokens::kParse), std::vector<Token>{2});
  EXPECT_EQ(*tokenizer.encode("ab", SpecialTokens::kPlain), (std::vector<Token>{0, 1}));
  EXPECT_EQ(*tokenizer.encode("ba", SpecialTokens::kPlain), (std::vector<Token>{1, 0}));
  EXPECT_TRUE(tokenizer.is_control(2));
  EXPECT_TRUE(tokenizer.is_control(3));
  EXPECT_FALSE(tokenizer.is_control(0));  // every "a" of ordinary text is one
}

std::string refusal(std::string_view json) {
  const auto loaded = load_tokenizer_json(json);
  return loaded.ok() ? "accepted" : loaded.error().message;
}

std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

TEST(TokenizerJson, RefusesByName) {
  EXPECT_EQ(refusal(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[]}})"), "accepted");
  EXPECT_NE(refusal("{").find("not valid JSON"), std::string::npos);
  EXPECT_NE(refusal("{}").find("no model"), std::string::npos);
  EXPECT_NE(refusal(R"({"model":{"type":"BPE","vocab":{"a":0,"b":0},"merges":[]}})").find("id 0"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"model":{"type":"BPE","vocab":{"a":9999999},"merges":[]}})").find("ids"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":["a b"]}})").find("merge 0"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"model":{"type":"WordLevel","vocab":{"a":0}}})").find("unk_token"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"model":{"type":"Words","vocab":{"a":0}}})").find("WordLevel"),
            std::string::npos);
  EXPECT_NE(
      refusal(R"({"normalizer":{"type":"Mnt"},"model":{"vocab":{"a":0},"merges":[]}})").find("Mnt"),
      std::string::npos);
  const std::string_view look_behind = R"~({"pre_tokenizer":{"type":"Split","pattern":
      {"Regex":"(?<=a)"},"behavior":"Isolated"},"model":{"vocab":{"a":0},"merges":[]}})~";
  EXPECT_NE(refusal(look_behind).find("(?<="), std::string::npos);
  EXPECT_NE(
      refusal(R"({"decoder":{"type":"ABC"},"model":{"vocab":{"a":0},"merges":[]}})").find("ABC"),
      std::string::npos);
  const auto refused_part = [](const std::string& part) {
    return refusal("{" + part + R"(,"model":{"vocab":{"a":0},"merges":[]}})");
  };
  for (
      const auto& [part, word] : std::vector<std::pair<std::string, std::string>>{
          {R"("post_processor":{"type":"Other"})", "Other"},
          {R"("post_processor":{"type":"BertProcessing","cls":["a",0],"sep":["b",7]})",
           "not there"},
          {R"("post_processor":{"type":"TemplateProcessing","single":[]})", "$A once"},
          {R"("post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"x"}}]})",
           "ids of \"x\""},
          {R"("decoder":{"type":"BPEDecoder","suffix":""})", "suffix"},
          {R"("decoder":{"type":"CTC","pad_token":"a","word_delimiter_token":""})", "delimiter"},
          {R"("pre_tokenizer":{"type":"FixedLength","length":0})", "at least 1"},
          {R"("pre_tokenizer":{"type":"Metaspace","replacement":"ab"})", "one character"},
          {R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"})" +
               repeated(R"(,{"type":"WhitespaceSplit"})", 64) + "]}",
           "more than 64"},
          {R"("pre_tokenizer":{"type":"CharDelimiterSplit","delimiter":"ab"})", "one character"},
          {R"("normalizer":{"type":"Precompiled","precompiled_charsmap":"!"})", "base64"},
          {R"("normalizer":{"type":"Precompiled","precompiled_charsmap":"AAA="})", "cut short"},
          {R"("normalizer":{"type":"Precompiled","precompiled_charsmap":"/////w=="})", "announce"},
          {R"("normalizer":{"type":"Sequence","normalizers":[{"type":"Replace","pattern":
               {"String":"a"},"content":")" +
               std::string(100, 'x') +
               R"("},{"type":"Replace","pattern":{"String":"x"},"content":")" +
               std::string(100, 'x') + R"("}]})",
           "10000 times longer"},
          {R"("normalizer":{"type":"Prepend","prepend":")" + std::string(5000, 'x') + R"("})",
           "5001 times longer"}}) {
    EXPECT_NE(refused_part(part).find(word), std::string::npos) << part << refused_part(part);
  }
  EXPECT_NE(refusal(R"({"model":{"type":"BPE","dropout":0.1,"vocab":{"a":0},"merges":[]}})")
                .find("dropout"),
            std::string::npos);
}

// The author of each character is followed through normalizers in linear time.
TEST(TokenizerJson, LongTrustedTextIsNotQuadratic) {
  std::ifstream golden(O3_SOURCE_DIR "/tests/golden/tokenizer/components/normalizers.jsonl");
  for (std::string line; std::getline(golden, line);) {
    auto description = nlohmann::json::parse(line)["json"];
    description["added_tokens"] = {
        {{"id", 256}, {"content", "<x>"}, {"special", true}, {"normalized", true}}};
    const auto loaded = load_tokenizer_json(description.dump());
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    std::string text;
    for (int i = 0; i < 1 << 16; ++i) text += "a 7";
    const auto tokens =
        *(*loaded)->encode(std::vector<Segment>{{text + "<x>", true}, {"<x>", false}});
    // Prepend writes itself before the added text too, which is then found nowhere else.
    const bool prepends = description["normalizer"].dump().find("Prepend") != std::string::npos;
    EXPECT_EQ(std::count(tokens.begin(), tokens.end(), 256), prepends ? 0 : 1)
        << description["normalizer"];
  }
}

TEST(TokenizerJson, TheVersionLineOfMergesIsNoMerge) {
  const auto loaded = load_tokenizer_json(R"~({"model": {"type": "BPE",
      "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["#version: 0.2 x", "a b"]}})~");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(*(*loaded)->encode("aba", SpecialTokens::kParse), (std::vector<Token>{2, 0}));
}

TEST(TokenizerJson, MergesOfSpecialTokensAreLeftOut) {
  const auto loaded = load_tokenizer_json(R"~({
      "added_tokens": [{"id": 2, "content": "ab", "special": true}],
      "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "abb": 3, "bb": 4},
                "merges": ["a b", "ab b", "b b"]}})~");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(*(*loaded)->encode("abb", SpecialTokens::kParse), (std::vector<Token>{2, 1}));
  EXPECT_EQ(*(*loaded)->encode("abb", SpecialTokens::kPlain), (std::vector<Token>{0, 4}));
}

// Many sections and many ranges of trust: work in proportion to both, not to their product.
TEST(TokenizerJson, ManySectionsAndRanges) {
  const auto loaded = load_tokenizer_json(R"~({"normalizer": {"type": "Lowercase"},
      "added_tokens": [{"id": 2, "content": "<X>", "special": true},
                       {"id": 3, "content": "ab", "special": false, "normalized": true}],
      "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}})~");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  std::vector<Segment> segments;
  std::vector<Token> expected;
  for (int i = 0; i < 100'000; ++i) {
    segments.push_back({"<X>A", true});
    segments.push_back({"bAB", false});
    segments.push_back({"AB", true});
    for (const Token token : {2, 0, 1, 0, 1, 3}) expected.push_back(token);
  }
  EXPECT_EQ(*(*loaded)->encode(segments), expected);
}

// What training or batches wanted: the server counts the context itself.
TEST(TokenizerJson, TruncationAndPaddingAreNotApplied) {
  const auto loaded = load_tokenizer_json(R"~({
      "truncation": {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0},
      "padding": {"strategy": {"Fixed": 9}, "direction": "Right", "pad_to_multiple_of": null,
                  "pad_id": 1, "pad_type_id": 0, "pad_token": "b"},
      "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}})~");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(*(*loaded)->encode("aaaa", SpecialTokens::kParse), (std::vector<Token>{0, 0, 0, 0}));
}

}  // namespace
}  // namespace o3::text
