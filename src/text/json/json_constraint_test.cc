// SPDX-License-Identifier: Apache-2.0
#include "text/json/json_constraint.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "text/unicode/utf8.h"

namespace o3::text {
namespace {

constexpr Token kEnd = 1;

// Tokens are given texts; ids 0 and 1 are control tokens, 1 the end of sequence.
class FakeTokenizer final : public Tokenizer {
 public:
  explicit FakeTokenizer(std::vector<std::string> texts) : texts_(std::move(texts)) {}
  int32_t vocabulary_size() const noexcept override { return static_cast<int32_t>(texts_.size()); }
  std::optional<Token> bos() const noexcept override { return std::nullopt; }
  std::optional<Token> eos() const noexcept override { return kEnd; }
  bool adds_bos() const noexcept override { return false; }
  bool is_control(Token token) const noexcept override { return token <= kEnd; }
  std::optional<Token> find(std::string_view /*text*/) const override { return std::nullopt; }
  Result<std::vector<Token>> encode(std::string_view /*text*/, SpecialTokens /*s*/) const override {
    return std::vector<Token>();
  }
  Result<std::vector<Token>> encode(std::span<const Segment> /*segments*/) const override {
    return std::vector<Token>();
  }
  std::string_view bytes(Token token, bool show_control) const noexcept override {
    if (token < 0 || token >= vocabulary_size() || (token <= kEnd && !show_control)) return {};
    return texts_[static_cast<size_t>(token)];
  }

 private:
  std::vector<std::string> texts_;
};

std::vector<std::string> byte_tokens() {
  std::vector<std::string> texts = {"<s>", "</s>"};
  for (int byte = 0; byte < 256; ++byte) texts.emplace_back(1, static_cast<char>(byte));
  return texts;
}

// Every byte, pieces of JSON, words, and random cuts of valid and invalid text.
std::vector<std::string> mixed_tokens(std::mt19937& random) {
  std::vector<std::string> texts = byte_tokens();
  for (const char* piece : {"{\"",
                            "\":",
                            "\": ",
                            "\",\"",
                            "\"}",
                            "\"]",
                            "},{",
                            "}}",
                            "]]",
                            "[[",
                            "{}",
                            "[]",
                            "[{",
                            "true",
                            "false,",
                            "null}",
                            " true",
                            ":\"",
                            "\":\"",
                            ", \"",
                            "\n  \"",
                            "\n\n",
                            "  ",
                            "        ",
                            "\\u",
                            "\\ud83d",
                            "\\udc00",
                            "d83d\\ude00",
                            "\\n",
                            "\\\\",
                            "\\\"",
                            "\"\\",
                            "ab\"",
                            "12",
                            "-1",
                            "0.5",
                            ".5",
                            "1e9",
                            "e+",
                            "E-1",
                            "00",
                            "{\"a\":1}",
                            "{\"a\":[1,2,{\"b\":\"c\"}]}",
                            "a\": [",
                            "\t",
                            "name",
                            " the",
                            "\xC3",
                            "\xA9",
                            "\xC3\xA9",
                            "\xE6\x97",
                            "\xE6\x97\xA5\xE6",
                            "\xF0\x9F\x98\x80",
                            "\xED\xA0\x80",
                            "\xC0\xAF",
                            "a\xF0\x9F",
                            "\x98\x80\"",
                            "\x80\"}",
                            "</s>",
                            "a\nb",
                            "a\x01"}) {
    texts.emplace_back(piece);
  }
  const std::string alphabet = "{}[]\",:\\ \n0123456789.eE+-tfnrualse\xE6\x97\xA5\xC3";
  for (int i = 0; i < 400; ++i) {
    std::string text;
    for (size_t length = 1 + random() % 5; length > 0; --length) {
      text += alphabet[random() % alphabet.size()];
    }
    texts.push_back(text);
  }
  texts.emplace_back("");
  texts.push_back(std::string(300, 'a'));
  return texts;
}

std::shared_ptr<const JsonVocabulary> vocabulary(const FakeTokenizer& tokenizer) {
  auto made = JsonVocabulary::create(tokenizer);
  EXPECT_TRUE(made.ok());
  return *std::move(made);
}

std::unique_ptr<JsonConstraint> constraint(std::shared_ptr<const JsonVocabulary> words,
                                           const JsonLimits& limits = {}) {
  const auto machine = JsonMachine::create(limits);
  EXPECT_TRUE(machine.ok());
  return std::make_unique<JsonConstraint>(std::move(words), *machine);
}

std::vector<Token> allowed(const JsonConstraint& constraint, int32_t vocabulary_size) {
  std::vector<uint32_t> bits(static_cast<size_t>(vocabulary_size + 31) / 32 + 2, ~0u);
  constraint.fill(bits);
  std::vector<Token> tokens;
  for (size_t id = 0; id < bits.size() * 32; ++id) {
    if ((bits[id / 32] >> (id % 32) & 1) != 0) tokens.push_back(static_cast<Token>(id));
  }
  return tokens;
}

// Whether the machine takes all of the text.
bool takes(const JsonMachine& machine, std::string_view text, JsonState& state) {
  for (const char byte : text) {
    if (!machine.advance(state, static_cast<uint8_t>(byte))) return false;
  }
  return true;
}

JsonMachine machine(const JsonLimits& limits = {}) {
  return *JsonMachine::create(limits);
}

TEST(JsonMachine, TakesEveryPrefixOfValidObjects) {
  const std::string texts[] = {
      R"({})",
      R"({"a":1})",
      "{ \"a\" : [ ] ,\n\t\"b\" : { } }",
      "{\"a\":\r\n1}",
      R"({"":"","a":[true,false,null,-0,0,10,-1.5,0.25e+10,1E-2,1e5],"a":{"a":[[[{}]]]}})",
      R"({"esc":"\"\\\/\b\f\n\r\t\u0041\u00e9\uFFFF\ud83d\uDE00\uD800\udc00"})",
      "{\"utf8\":\"\x7F \xC2\x80 \xDF\xBF \xE0\xA0\x80 \xED\x9F\xBF \xEE\x80\x80 \xEF\xBF\xBF\"}",
      "{\"utf8\":\"\xF0\x90\x80\x80 \xF4\x8F\xBF\xBF\"}",
      R"({"n":12345678901234567890123456789012})",
      "\n  {\"a\":1}",
  };
  for (const std::string& text : texts) {
    SCOPED_TRACE(text);
    ASSERT_TRUE(nlohmann::json::accept(text));
    JsonState state;
    for (size_t i = 0; i < text.size(); ++i) {
      EXPECT_FALSE(JsonMachine::complete(state));
      ASSERT_TRUE(machine().advance(state, static_cast<uint8_t>(text[i]))) << "at byte " << i;
    }
    EXPECT_TRUE(JsonMachine::complete(state));
    for (int byte = 0; byte < 256; ++byte) {
      JsonState after = state;
      EXPECT_FALSE(machine().advance(after, static_cast<uint8_t>(byte)));
    }
  }
}

TEST(JsonMachine, RefusesWhatIsNoObject) {
  const std::string texts[] = {"[",
                               "1",
                               "\"",
                               "t",
                               "n",
                               "}",
                               "\xEF\xBB\xBF{",
                               "{1",
                               "{,",
                               "{\"a\"}",
                               "{\"a\",",
                               "{\"a\":}",
                               "{\"a\":1,}",
                               "{\"a\":1 2",
                               "{\"a\":1]",
                               "{\"a\":[1}",
                               "{\"a\":[,",
                               "{\"a\":[1,]",
                               "{\"a\":01",
                               "{\"a\":-}",
                               "{\"a\":+1",
                               "{\"a\":.5",
                               "{\"a\":1.}",
                               "{\"a\":1.e1",
                               "{\"a\":1e}",
                               "{\"a\":1e+}",
                               "{\"a\":0x1",
                               "{\"a\":1e999",
                               "{\"a\":Infinity",
                               "{\"a\":NaN",
                               "{\"a\":-I",
                               "{\"a\":tru}",
                               "{\"a\":True",
                               "{\"a\":nul1",
                               "{\"a\":truex",
                               "{'a'",
                               "{a",
                               "{\"a\n",
                               "{\"a\":\"\t",
                               "{\"a\":\"\x1F",
                               "{\"a\":\"\\x",
                               "{\"a\":\"\\u12g",
                               "{\"a\":\"\\ud800\"",
                               "{\"a\":\"\\ud800a",
                               "{\"a\":\"\\ud800\\n",
                               "{\"a\":\"\\ud800\\ud800",
                               "{\"a\":\"\\ud800\\u0041",
                               "{\"a\":\"\\udc00",
                               "{\"a\":\"\x80",
                               "{\"a\":\"\xC0\xAF",
                               "{\"a\":\"\xC3\"",
                               "{\"a\":\"\xE0\x80",
                               "{\"a\":\"\xED\xA0",
                               "{\"a\":\"\xF0\x80",
                               "{\"a\":\"\xF4\x90",
                               "{\"a\":\"\xF5",
                               "{\"a\":\"\xFF",
                               "{}{",
                               "{} ",
                               "{}\n",
                               "{//",
                               "{\"a\":1;",
                               "{\v",
                               "{\"a\":\"\\",
                               "{\"a\"=",
                               "{\"a\"::"};
  for (const std::string& text : texts) {
    JsonState state;
    const bool taken = takes(machine(), text, state);
    // A few are only cut off: what must not come next is refused.
    EXPECT_TRUE(!taken || text == "{\"a\":\"\\") << text;
    EXPECT_FALSE(taken && JsonMachine::complete(state)) << text;
  }
}

TEST(JsonMachine, BoundsWhatCouldGoOnForever) {
  const auto taken = [](const std::string& text, const JsonLimits& limits) {
    JsonState state;
    return takes(*JsonMachine::create(limits), text, state);
  };
  EXPECT_TRUE(taken("{\n  \"a\":\n  1\n}", {.newlines = 1, .blanks = 2}));
  EXPECT_FALSE(taken("{\n\n", {.newlines = 1}));
  EXPECT_FALSE(taken("{   ", {.blanks = 2}));
  EXPECT_FALSE(taken("{ ", {.newlines = 0, .blanks = 0}));
  EXPECT_TRUE(taken("{\"a\":1 ,", {.blanks = 1}));
  EXPECT_TRUE(taken("{\"a\":[[{\"b\":1", {.nesting = 4}));
  EXPECT_FALSE(taken("{\"a\":[[{\"b\":[", {.nesting = 4}));
  EXPECT_FALSE(taken("{\"a\":[[{\"b\":{", {.nesting = 4}));
  EXPECT_TRUE(taken("{\"a\":[],\"b\":[]", {.nesting = 2}));
  EXPECT_TRUE(taken("{\"a\":123456}", {.number_bytes = 6}));
  EXPECT_FALSE(taken("{\"a\":1234567", {.number_bytes = 6}));
  EXPECT_TRUE(taken("{\"a\":1234.5,", {.number_bytes = 6}));
  EXPECT_FALSE(taken("{\"a\":12345.", {.number_bytes = 6}));
  EXPECT_FALSE(taken("{\"a\":12345e", {.number_bytes = 6}));
  EXPECT_FALSE(taken("{\"a\":1234e-", {.number_bytes = 6}));
  EXPECT_FALSE(taken("{\"a\":1e", {.exponent_digits = 0}));
  EXPECT_FALSE(taken("{\"a\":1e100", {}));
  EXPECT_FALSE(JsonMachine::create({.nesting = 65}).ok());
  EXPECT_FALSE(JsonMachine::create({.nesting = 0}).ok());
  EXPECT_FALSE(JsonMachine::create({.exponent_digits = 3}).ok());
}

// One random walk; says how it went.
std::string walk(JsonConstraint& constraint, const FakeTokenizer& tokenizer, std::mt19937& random,
                 int free_steps) {
  std::string text;
  for (int step = 0;; ++step) {
    std::vector<Token> tokens = allowed(constraint, tokenizer.vocabulary_size());
    EXPECT_FALSE(tokens.empty());
    if (constraint.complete()) {
      EXPECT_EQ(tokens, std::vector<Token>{kEnd});
      EXPECT_TRUE(constraint.accept(kEnd));
      EXPECT_TRUE(constraint.complete());
      return text;
    }
    Token token = tokens[random() % tokens.size()];
    if (step > free_steps) {  // head for the end
      const std::string_view closers = "\"}]0:";
      for (const char closer : closers) {
        const Token wanted = 2 + static_cast<Token>(static_cast<uint8_t>(closer));
        if (std::find(tokens.begin(), tokens.end(), wanted) != tokens.end()) {
          token = wanted;
          break;
        }
      }
    }
    EXPECT_TRUE(constraint.accept(token));
    text += tokenizer.bytes(token, false);
    if (text.size() > 100'000) {
      ADD_FAILURE() << "no end: " << text.substr(0, 200);
      return text;
    }
  }
}

TEST(JsonConstraint, RandomWalksGiveObjects) {
  std::mt19937 random(7);
  const FakeTokenizer tokenizer(mixed_tokens(random));
  const auto words = vocabulary(tokenizer);
  for (int round = 0; round < 150; ++round) {
    const JsonLimits limits{.nesting = 1 + static_cast<int>(random() % 64),
                            .newlines = static_cast<int>(random() % 3),
                            .blanks = static_cast<int>(random() % 5),
                            .number_bytes = 4 + static_cast<int>(random() % 10)};
    const auto json = constraint(words, limits);
    const std::string text = walk(*json, tokenizer, random, static_cast<int>(random() % 120));
    const auto parsed = nlohmann::json::parse(text, nullptr, false);
    EXPECT_TRUE(parsed.is_object()) << text;
    EXPECT_TRUE(is_utf8(text));
  }
}

TEST(JsonConstraint, FillEqualsTryingEachToken) {
  std::mt19937 random(11);
  const FakeTokenizer tokenizer(mixed_tokens(random));
  const auto words = vocabulary(tokenizer);
  for (int round = 0; round < 30; ++round) {
    const auto json = constraint(words);
    for (int step = 0; step < 40 && !json->complete(); ++step) {
      std::vector<Token> expected;
      for (Token token = -3; token < tokenizer.vocabulary_size() + 3; ++token) {
        if (!json->accept(token)) continue;
        json->rollback(1);
        expected.push_back(token);
      }
      ASSERT_EQ(allowed(*json, tokenizer.vocabulary_size()), expected);
      ASSERT_TRUE(json->accept(expected[random() % expected.size()]));
    }
  }
}

TEST(JsonConstraint, RollbackEqualsReplay) {
  std::mt19937 random(13);
  const FakeTokenizer tokenizer(mixed_tokens(random));
  const auto words = vocabulary(tokenizer);
  for (int round = 0; round < 40; ++round) {
    const auto json = constraint(words);
    std::vector<Token> taken;
    for (int step = 0; step < 60; ++step) {
      const std::vector<Token> tokens = allowed(*json, tokenizer.vocabulary_size());
      if (!taken.empty() && random() % 3 == 0) {
        const auto back = static_cast<int32_t>(random() % (taken.size() + 1));
        json->rollback(back);
        taken.resize(taken.size() - static_cast<size_t>(back));
      } else {
        taken.push_back(tokens[random() % tokens.size()]);
        ASSERT_TRUE(json->accept(taken.back()));
      }
      const auto replay = constraint(words);
      for (const Token token : taken) ASSERT_TRUE(replay->accept(token));
      ASSERT_EQ(allowed(*json, tokenizer.vocabulary_size()),
                allowed(*replay, tokenizer.vocabulary_size()));
      ASSERT_EQ(json->complete(), replay->complete());
    }
  }
}

TEST(JsonConstraint, ControlTokensNeverAndTheEndOnlyAtTheEnd) {
  const FakeTokenizer tokenizer(byte_tokens());
  const auto json = constraint(vocabulary(tokenizer));
  EXPECT_FALSE(json->accept(0));
  EXPECT_FALSE(json->accept(kEnd));
  EXPECT_FALSE(json->accept(-1));
  EXPECT_FALSE(json->accept(100'000));
  for (const char byte : std::string("{\"</s>\":\"</s>\"}")) {
    EXPECT_FALSE(json->accept(kEnd));
    EXPECT_FALSE(json->complete());
    ASSERT_TRUE(json->accept(2 + static_cast<Token>(static_cast<uint8_t>(byte))));
  }
  EXPECT_TRUE(json->complete());
  EXPECT_FALSE(json->accept(0));
  EXPECT_TRUE(json->accept(kEnd));
}

TEST(JsonConstraint, TheFactoryMakesFreshConstraints) {
  const FakeTokenizer tokenizer(byte_tokens());
  const auto factory = json_object_constraints(tokenizer);
  ASSERT_TRUE(factory.ok());
  const auto first = (*factory)();
  const auto second = (*factory)();
  EXPECT_TRUE(first->accept(2 + '{'));
  EXPECT_FALSE(second->accept(2 + '}'));
  EXPECT_TRUE(second->accept(2 + '{'));
  EXPECT_FALSE(json_object_constraints(tokenizer, {.nesting = 0}).ok());
}

TEST(JsonConstraint, VocabulariesThatCannotWriteJsonAreRefused) {
  std::vector<std::string> texts = byte_tokens();
  texts[2 + '}'] = "x";
  const auto refused = JsonVocabulary::create(FakeTokenizer(texts));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUnsupported);
  EXPECT_NE(refused.error().message.find("'}'"), std::string::npos);
}

// Without tokens for continuation bytes, half a code point could never be completed.
TEST(JsonConstraint, HalfCodePointsNeedContinuationBytes) {
  std::vector<std::string> texts = byte_tokens();
  texts[2 + 0x97] = "x";
  texts.emplace_back("\xE6");
  texts.emplace_back("\xE6\x97\xA5");
  const FakeTokenizer tokenizer(texts);
  const auto json = constraint(vocabulary(tokenizer));
  for (const char byte : {'{', '"'}) ASSERT_TRUE(json->accept(2 + static_cast<Token>(byte)));
  EXPECT_FALSE(json->accept(tokenizer.vocabulary_size() - 2));
  EXPECT_TRUE(json->accept(tokenizer.vocabulary_size() - 1));
}

}  // namespace
}  // namespace o3::text
