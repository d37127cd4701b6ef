// SPDX-License-Identifier: Apache-2.0
#include "config/json_reader.h"

#include <gtest/gtest.h>

#include <string>

namespace o3::config {
namespace {

Error refused(std::string_view text, const JsonLimits& limits = {}) {
  auto result = read_json(text, limits);
  if (!result.ok()) return result.error();
  ADD_FAILURE() << "accepted: " << text;
  return {};
}

TEST(JsonReader, BuildsWhatTheTextSays) {
  const auto read = read_json(R"({"a":[1,-2,3.5,"x\u00e9",true,null,{"b":{}}],"c":[[],[{}]]})");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->dump(), R"({"a":[1,-2,3.5,"xé",true,null,{"b":{}}],"c":[[],[{}]]})");
  EXPECT_EQ(read_json("7")->get<int>(), 7);
  EXPECT_TRUE((*read_json("18446744073709551615")).is_number_unsigned());
  EXPECT_TRUE((*read_json("18446744073709551616")).is_number_float());
}

TEST(JsonReader, RefusesWhatTwoReadersMightReadDifferently) {
  for (const std::string_view text :
       {"", "{", "{\"a\":1,}", "[1] 2", "{'a':1}", "// x\n1", "NaN", "01", "\"\\ud800\"",
        "\"\xff\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "\"a\nb\"", "[1 2]", "{\"a\":1 \"b\":2}",
        "\"\\x\""}) {
    EXPECT_EQ(refused(text).code, Code::kInvalid) << text;
  }
  const Error twice = refused(R"({"a":{"role":1,"role":2}})");
  EXPECT_EQ(twice.param, "a.role");
}

TEST(JsonReader, ANulByteIsNotTheEndOfTheText) {
  using std::string_literals::operator""s;
  for (const std::string& text : {"{\"a\":1}\0{junk"s, "{\"a\":1}\0"s, "\0"s, "\0{}"s, "[1,\0 2]"s,
                                  "{\"a\0\":1}"s, "\"a\0b\""s, "1\0"s, "1 \0"s}) {
    EXPECT_EQ(refused(text).code, Code::kInvalid) << text;
  }
  EXPECT_EQ(refused("{}\0"s).message, "Not valid JSON (UTF-8 text) at byte 3.");
  EXPECT_EQ((*read_json(R"("a\u0000b")")), "a\0b"s) << "an escaped one is a character";
}

TEST(JsonReader, ANumberOutOfRangeNamesItsField) {
  EXPECT_EQ(refused(R"({"m":[{"x":1}],"temperature":1e400})").param, "temperature");
  EXPECT_EQ(refused(R"({"m":[{"x":1},{"x":-1e999}]})").param, "m[1].x");
}

TEST(JsonReader, DeepTextIsRefusedWithoutUsingTheStack) {
  const std::string arrays(1 << 20, '[');
  EXPECT_EQ(refused(arrays).code, Code::kTooLong);
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(refused(objects).code, Code::kTooLong);
  const std::string fits = std::string(64, '[') + std::string(64, ']');
  EXPECT_TRUE(read_json(fits).ok());
  EXPECT_EQ(refused("[" + fits + "]").code, Code::kTooLong);
}

TEST(JsonReader, CountsBytesValuesAndKeys) {
  EXPECT_EQ(refused("[1,2,3]", {.bytes = 6}).code, Code::kTooLong);
  EXPECT_EQ(refused("[1,2,3]", {.values = 3}).code, Code::kTooLong);
  EXPECT_TRUE(read_json("[1,2,3]", {.bytes = 7, .values = 4}).ok());
  EXPECT_EQ(refused(R"({"abcd":1})", {.key_bytes = 3}).code, Code::kTooLong);
}

}  // namespace
}  // namespace o3::config
