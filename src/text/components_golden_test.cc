// SPDX-License-Identifier: Apache-2.0
// Each component of tokenizer.json by itself against Hugging Face's `tokenizers`
// (tools/golden/tokenizer_components.py).
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "text/detokenizer.h"
#include "text/hf/tokenizer_json.h"

namespace o3::text {
namespace {

using Json = nlohmann::json;
using Check = std::function<void(const Tokenizer& tokenizer, const Json& row)>;

void for_each_row(const std::string& file, size_t components, const Check& check) {
  std::ifstream golden(O3_SOURCE_DIR "/tests/golden/tokenizer/components/" + file);
  size_t found = 0;
  for (std::string line; std::getline(golden, line); ++found) {
    const Json entry = Json::parse(line);
    const std::string description = entry["json"].dump();
    SCOPED_TRACE(description.substr(0, 400));
    const auto loaded = load_tokenizer_json(description);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    for (const Json& row : entry["rows"]) check(**loaded, row);
  }
  EXPECT_EQ(found, components);
}

std::vector<Token> framed(const Tokenizer& tokenizer, std::vector<Token> ids) {
  Frame frame = tokenizer.frame();
  ids.insert(ids.begin(), frame.before.begin(), frame.before.end());
  ids.insert(ids.end(), frame.after.begin(), frame.after.end());
  return ids;
}

std::string streamed(const Tokenizer& tokenizer, const std::vector<Token>& ids) {
  Detokenizer stream(tokenizer, true);
  std::string out;
  for (const Token id : ids) stream.push(id, out);
  stream.flush(out);
  return out;
}

std::string without_spaces_around(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

TEST(ComponentsGolden, Normalizers) {
  for_each_row("normalizers.jsonl", 22, [](const Tokenizer& tokenizer, const Json& row) {
    const auto ids = *tokenizer.encode(row[0].get<std::string>(), SpecialTokens::kParse);
    EXPECT_EQ(tokenizer.join(ids, true), row[1].get<std::string>()) << row[0];
  });
}

TEST(ComponentsGolden, PreTokenizers) {
  for_each_row("pre_tokenizers.jsonl", 44, [](const Tokenizer& tokenizer, const Json& row) {
    EXPECT_EQ(*tokenizer.encode(row[0].get<std::string>(), SpecialTokens::kParse),
              row[1].get<std::vector<Token>>())
        << row[0];
  });
}

TEST(ComponentsGolden, Decoders) {
  for_each_row("decoders.jsonl", 27, [](const Tokenizer& tokenizer, const Json& row) {
    const auto ids = row[0].get<std::vector<Token>>();
    const auto text = row[1].get<std::string>();
    EXPECT_EQ(decode(tokenizer, ids, true), text) << row[0];
    // A stream is a part of a text: its first and last tokens are not the text's.
    std::vector<Token> more = {tokenizer.find("1").value()};
    more.insert(more.end(), ids.begin(), ids.end());
    more.push_back(more[0]);
    const std::string stream = without_spaces_around(streamed(tokenizer, ids));
    if (stream != without_spaces_around(text)) {
      std::string inside = decode(tokenizer, more, true).substr(1);
      inside.pop_back();
      EXPECT_EQ(stream, without_spaces_around(inside)) << row[0];
    }
  });
}

TEST(ComponentsGolden, ModelsAndPostProcessors) {
  for_each_row("models.jsonl", 9, [](const Tokenizer& tokenizer, const Json& row) {
    const auto text = row[0].get<std::string>();
    const auto ids = row[1].get<std::vector<Token>>();
    EXPECT_EQ(*tokenizer.encode(text, SpecialTokens::kParse), ids) << row[0];
    EXPECT_EQ(framed(tokenizer, ids), row[2].get<std::vector<Token>>()) << row[0];
    if (row[3].is_string()) {
      EXPECT_EQ(decode(tokenizer, ids, true), row[3].get<std::string>()) << row[0];
    }
    const auto plain = tokenizer.encode(text, SpecialTokens::kPlain);
    for (const Token token : *plain) {
      EXPECT_TRUE(!tokenizer.is_control(token) || token == tokenizer.unknown()) << row[0];
    }
  });
}

}  // namespace
}  // namespace o3::text
