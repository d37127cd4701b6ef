// SPDX-License-Identifier: Apache-2.0
#include "api/output_chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "api/json_text.h"
#include "api/testing/fake_text.h"

namespace o3::api {
namespace {

using testing::ByteTokenizer;
using testing::tokens_of;

// The definition, on the whole text: the stop string that ends first, the longest of those.
std::string reference(const std::string& text, const std::vector<std::string>& stops) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const std::string& stop : stops) {
      if (stop.size() <= end && text.compare(end - stop.size(), stop.size(), stop) == 0) {
        longest = std::max(longest, stop.size());
      }
    }
    if (longest > 0) return text.substr(0, end - longest);
  }
  return text;
}

// Pieces of the given sizes; each released piece is checked to be allowed.
std::string through(const std::string& text, const std::vector<std::string>& stops, size_t piece) {
  StopMatcher matcher(stops);
  std::string out;
  for (size_t at = 0; at < text.size(); at += piece) {
    if (matcher.push(std::string_view(text).substr(at, piece), out)) break;
  }
  matcher.flush(out);
  return out;
}

TEST(StopMatcher, EndsBeforeTheFirstStopStringHoweverTheTextIsCut) {
  const std::vector<std::vector<std::string>> sets{
      {"STOP"}, {"aab"}, {"aa", "aaa"}, {"bc", "abcd", "cd"}, {"\n\n", "User:"}, {"a"}, {"é"}, {}};
  const std::string texts[]{
      "hello STOP world", "aaaab", "xabcd", "ab\n\nUser:", "aSTSTOPb", "", "ST",
      "caf\xc3\xa9!",     "aaa"};
  for (const auto& stops : sets) {
    for (const std::string& text : texts) {
      for (size_t piece = 1; piece <= text.size() + 1; ++piece) {
        EXPECT_EQ(through(text, stops, piece), reference(text, stops)) << text << " / " << piece;
      }
    }
  }
}

TEST(StopMatcher, AgreesWithTheDefinitionOnRandomTexts) {
  std::mt19937 random(7);
  const auto word = [&](size_t most) {
    std::string text(1 + random() % most, 'a');
    for (char& c : text) c = static_cast<char>('a' + random() % 2);
    return text;
  };
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> stops;
    for (size_t i = 1 + random() % 4; i > 0; --i) stops.push_back(word(6));
    const std::string text = word(40);
    EXPECT_EQ(through(text, stops, 1 + random() % 5), reference(text, stops));
  }
}

TEST(StopMatcher, HoldsBackOnlyWhatMayBecomeAStopString) {
  StopMatcher matcher({"###END"});
  std::string out;
  matcher.push("text #", out);
  EXPECT_EQ(out, "text ");
  matcher.push("##x", out);
  EXPECT_EQ(out, "text ###x");
  matcher.push("##", out);
  matcher.flush(out);
  EXPECT_EQ(out, "text ###x##");
}

TEST(OutputChain, ReleasesWholeCodePointsAndStopsAcrossTokens) {
  const ByteTokenizer tokenizer;
  OutputChain chain(tokenizer, {.stops = {"né"}});
  std::string out;
  for (const Token token : tokens_of("gar\xc3\xa7")) {
    const size_t before = out.size();
    chain.push(std::vector{token}, out);
    EXPECT_NE(out.size() - before, 3U);
  }
  EXPECT_EQ(out, "gar\xc3\xa7");
  chain.push(tokens_of("on n\xc3"), out);
  EXPECT_EQ(out, "gar\xc3\xa7on ");
  EXPECT_FALSE(chain.stopped());
  chain.push(tokens_of("\xa9 more"), out);
  EXPECT_TRUE(chain.stopped());
  EXPECT_EQ(out, "gar\xc3\xa7on ");
  EXPECT_EQ(chain.consumed(), 11) << "tokens after the stop string count";
  chain.finish(out);
  EXPECT_EQ(out, "gar\xc3\xa7on ");
}

TEST(OutputChain, AnIncompleteTailIsRepairedAtTheEnd) {
  const ByteTokenizer tokenizer;
  OutputChain chain(tokenizer, {});
  std::string out;
  chain.push(tokens_of("a\xf0\x9f\x90"), out);
  EXPECT_EQ(out, "a");
  chain.finish(out);
  EXPECT_EQ(out, "a\xef\xbf\xbd");
}

TEST(OutputChain, TheStopStringCanBePartOfTheText) {
  const ByteTokenizer tokenizer;
  OutputChain chain(tokenizer, {.stops = {"END"}, .include_stop = true});
  std::string out;
  chain.push(tokens_of("one EN"), out);
  EXPECT_EQ(out, "one ");
  chain.push(tokens_of("D two"), out);
  EXPECT_EQ(out, "one END");
  EXPECT_EQ(chain.stop(), "END");
}

TEST(OutputChain, NoStopStringBeginsInTheFirstTokens) {
  const ByteTokenizer tokenizer;
  OutputChain chain(tokenizer, {.stops = {"aa"}, .min_tokens = 3});
  std::string out;
  chain.push(tokens_of("aaaa"), out);
  EXPECT_EQ(out, "aaa") << "one more may become a stop string";
  EXPECT_FALSE(chain.stopped());
  chain.push(tokens_of("a"), out);
  EXPECT_TRUE(chain.stopped());
  EXPECT_EQ(out, "aaa");
}

// The texts of the scored tokens, joined, are the text, however it is held back and cut.
TEST(OutputChain, ScoredTokensAreThoseOfTheText) {
  const ByteTokenizer tokenizer;
  std::mt19937 random(3);
  const std::string texts[]{"plain",
                            "a stop STOP b",
                            "S",
                            "ST",
                            "caf\xc3\xa9 STO",
                            "\xf0\x9f\x90\x99STOP",
                            "x\xf0\x9f",
                            "STOP",
                            "\xc3\xa9\xc3\xa9STOP\xc3"};
  for (const std::string& text : texts) {
    for (int round = 0; round < 20; ++round) {
      OutputChain chain(tokenizer, {.stops = {"STOP"}});
      std::string out;
      std::string scored;
      const auto tokens = tokens_of(text);
      const auto take = [&] {
        for (const ScoredToken& one : chain.take_scored()) {
          EXPECT_EQ(one.scores.logprob, -static_cast<float>(one.token));
          scored += static_cast<char>(one.token);
        }
        EXPECT_LE(scored.size(), out.size() + 3) << "logprobs run ahead of the text";
      };
      for (size_t at = 0; at < tokens.size() && !chain.stopped();) {
        const size_t count = std::min(tokens.size() - at, size_t{1} + random() % 3);
        std::vector<engine::TokenLogprobs> scores;
        for (size_t i = 0; i < count; ++i) {
          scores.push_back({.logprob = -static_cast<float>(tokens[at + i])});
        }
        chain.push(std::span(tokens).subspan(at, count), out, scores);
        take();
        at += count;
      }
      chain.finish(out);
      take();
      const std::string expected = reference(text, {"STOP"});
      EXPECT_EQ(scored, expected);
    }
  }
}

TEST(JsonText, EscapesAndRepairs) {
  const auto json = [](std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
  };
  EXPECT_EQ(json("a\"\\\n\t\r\x01/é"), "\"a\\\"\\\\\\n\\t\\r\\u0001/é\"");
  EXPECT_EQ(json(std::string_view("\0\x1f", 2)), "\"\\u0000\\u001f\"");
  EXPECT_EQ(json("x\xff\xc3"), "\"x\xef\xbf\xbd\xef\xbf\xbd\"");
  EXPECT_EQ(json(""), "\"\"");
}

}  // namespace
}  // namespace o3::api
