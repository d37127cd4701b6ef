// SPDX-License-Identifier: Apache-2.0
// /v1/completions, and answers of several choices with log probabilities, over real sockets.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/testing/server_fixture.h"

namespace o3::api {
namespace {

using nlohmann::json;
using testing::RawResponse;
using testing::Script;
using testing::tokens_of;

class CompletionsTest : public testing::ServerFixture {
 protected:
  void SetUp() override {
    ServerFixture::SetUp();
    // Each choice says its number and its prompt's first letter.
    engine_.play([](const engine::Generate& work) {
      Script script;
      const std::string text =
          std::to_string(work.sampling.choice) + static_cast<char>(work.prompt.front()) + "z";
      for (const char c : text) script.steps.push_back({static_cast<unsigned char>(c)});
      return script;
    });
    start();
  }
  json complete(std::string_view prompt, std::string_view more = "", int status = 200) {
    const RawResponse response = ask(post_to("/v1/completions", body(prompt, more)));
    EXPECT_EQ(response.status, status) << response.body;
    return json::parse(response.body);
  }
  static std::string body(std::string_view prompt, std::string_view more) {
    return R"({"model":"octo","prompt":)" + std::string(prompt) + std::string(more) + "}";
  }
  // The data objects of a stream.
  std::vector<json> events(const std::string& request) {
    const RawResponse response = ask(request);
    EXPECT_EQ(response.status, 200) << response.body;
    std::vector<json> out;
    size_t at = 0;
    while ((at = response.body.find("data: ", at)) != std::string::npos) {
      const size_t end = response.body.find('\n', at);
      const std::string data = response.body.substr(at + 6, end - at - 6);
      if (data != "[DONE]") out.push_back(json::parse(data));
      at = end;
    }
    EXPECT_TRUE(response.body.ends_with("data: [DONE]\n\n"));
    return out;
  }
};

TEST_F(CompletionsTest, EveryPromptHasItsChoicesInOrder) {
  const json answer = complete(R"(["ab","cd"])", R"(,"n":2,"seed":5,"max_tokens":9)");
  EXPECT_EQ(answer["object"], "text_completion");
  EXPECT_TRUE(answer["id"].get<std::string>().starts_with("cmpl-"));
  ASSERT_EQ(answer["choices"].size(), 4U);
  const char* texts[]{"0az", "1az", "0cz", "1cz"};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(answer["choices"][i]["index"], i);
    EXPECT_EQ(answer["choices"][i]["text"], texts[i]);
    EXPECT_EQ(answer["choices"][i]["finish_reason"], "stop");
    EXPECT_TRUE(answer["choices"][i]["stop_reason"].is_null());
    EXPECT_TRUE(answer["choices"][i]["logprobs"].is_null());
  }
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 4) << "each prompt once";
  EXPECT_EQ(answer["usage"]["completion_tokens"], 12);
  EXPECT_EQ(metric("o3_requests_total{outcome=\"stop\"}"), 1) << "one request, one outcome";
  for (const auto& request : engine_.requests()) {
    EXPECT_EQ(std::get<engine::Generate>(request->work).sampling.seed, 5U);
  }
}

TEST_F(CompletionsTest, LogprobsAreColumnsWithOffsets) {
  const json answer = complete(R"("ab")", R"(,"logprobs":2,"echo":true)")["choices"][0];
  EXPECT_EQ(answer["text"], "ab0az");
  EXPECT_EQ(answer["logprobs"]["tokens"], json({"a", "b", "0", "a", "z"}));
  EXPECT_EQ(answer["logprobs"]["text_offset"], json({0, 1, 2, 3, 4}));
  EXPECT_EQ(answer["logprobs"]["token_logprobs"], json({nullptr, -2.0, -1.0, -1.0, -1.0}));
  EXPECT_TRUE(answer["logprobs"]["top_logprobs"][0].is_null());
  EXPECT_EQ(answer["logprobs"]["top_logprobs"][2], json({{"0", -1.0}, {"B", -2.0}}));
  EXPECT_EQ(complete(R"("ab")", R"(,"logprobs":0)")["choices"][0]["logprobs"]["text_offset"],
            json({0, 1, 2}));
}

TEST_F(CompletionsTest, EchoOfThePromptAlone) {
  const json answer = complete("[97,98]", R"(,"logprobs":0,"echo":true,"max_tokens":0)");
  EXPECT_EQ(answer["choices"][0]["text"], "ab");
  EXPECT_EQ(answer["choices"][0]["logprobs"]["tokens"], json({"a", "b"}));
  EXPECT_EQ(answer["usage"]["completion_tokens"], 0);
}

TEST_F(CompletionsTest, BestOfGivesTheLikeliest) {
  const json answer = complete(R"(["ab","cd"])", R"(,"n":1,"best_of":3)");
  ASSERT_EQ(answer["choices"].size(), 2U);
  EXPECT_EQ(answer["choices"][0]["text"], "2az");
  EXPECT_EQ(answer["choices"][1]["text"], "2cz");
  EXPECT_TRUE(answer["choices"][0]["logprobs"].is_null()) << "nobody asked for them";
  EXPECT_EQ(answer["usage"]["completion_tokens"], 18) << "all that was made";
}

TEST_F(CompletionsTest, AStreamSaysTheSameAsTheWholeAnswer) {
  for (const char* more : {"", R"(,"n":3)", R"(,"logprobs":1)", R"(,"echo":true,"n":2)",
                           R"(,"echo":true,"logprobs":1)", R"(,"stop":"az")"}) {
    const json whole = complete(R"(["ab","cd"])", more);
    std::map<size_t, json> choices;
    json usage;
    const std::string streamed =
        std::string(more) + R"(,"stream":true,"stream_options":{"include_usage":true})";
    for (const json& event : events(post_to("/v1/completions", body(R"(["ab","cd"])", streamed)))) {
      EXPECT_EQ(event["object"], "text_completion");
      if (event["choices"].empty()) usage = event["usage"];
      for (const json& choice : event["choices"]) {
        json& mine = choices.try_emplace(choice["index"], json::object()).first->second;
        EXPECT_FALSE(mine.contains("reason")) << "a chunk follows finish_reason";
        mine["text"] = mine.value("text", "") + choice["text"].get<std::string>();
        if (choice["finish_reason"].is_string()) mine["reason"] = choice["finish_reason"];
        if (!choice["logprobs"].is_object()) continue;
        for (const auto& [column, values] : choice["logprobs"].items()) {
          for (const json& value : values) mine[column].push_back(value);
        }
      }
    }
    EXPECT_EQ(usage, whole["usage"]);
    ASSERT_EQ(choices.size(), whole["choices"].size());
    for (const json& choice : whole["choices"]) {
      const json& mine = choices[choice["index"]];
      EXPECT_EQ(mine["text"], choice["text"]) << more;
      EXPECT_EQ(mine["reason"], choice["finish_reason"]);
      if (!choice["logprobs"].is_object()) continue;
      for (const auto& [column, values] : choice["logprobs"].items()) {
        EXPECT_EQ(mine[column], values) << more << " " << column;
      }
    }
  }
}

TEST_F(CompletionsTest, PromptLogprobsAreVllms) {
  const json answer = complete(R"("ab")", R"(,"prompt_logprobs":2)")["choices"][0];
  ASSERT_EQ(answer["prompt_logprobs"].size(), 2U);
  EXPECT_TRUE(answer["prompt_logprobs"][0].is_null());
  EXPECT_EQ(answer["prompt_logprobs"][1]["98"]["decoded_token"], "b");
  EXPECT_EQ(answer["prompt_logprobs"][1]["98"]["rank"], 1);
  EXPECT_EQ(answer["prompt_logprobs"][1]["66"]["logprob"], -3.0);
  const json chat_answer = json::parse(ask(post(chat(R"(,"prompt_logprobs":0)"))).body);
  EXPECT_EQ(chat_answer["prompt_logprobs"].size(), tokens_of("user:hi\nassistant:").size());
}

TEST_F(CompletionsTest, ChatChoicesStreamSideBySideWithOneRoleEach) {
  const json whole =
      json::parse(ask(post(chat(R"(,"n":3,"logprobs":true,"top_logprobs":1)"))).body);
  ASSERT_EQ(whole["choices"].size(), 3U);
  std::map<size_t, json> choices;
  for (const json& event :
       events(post(chat(R"(,"n":3,"logprobs":true,"top_logprobs":1,"stream":true)")))) {
    const json& choice = event["choices"][0];
    const auto [found, fresh] = choices.try_emplace(choice["index"], json::object());
    json& mine = found->second;
    EXPECT_EQ(choice["delta"].contains("role"), fresh);
    mine["text"] = mine.value("text", "") + choice["delta"].value("content", "");
    mine["reason"] = choice["finish_reason"];
    if (!choice["logprobs"].is_object()) continue;
    for (const json& one : choice["logprobs"]["content"]) mine["logprobs"].push_back(one);
  }
  for (const json& choice : whole["choices"]) {
    const json& mine = choices[choice["index"]];
    EXPECT_EQ(mine["text"], choice["message"]["content"]);
    EXPECT_EQ(mine["reason"], "stop");
    EXPECT_EQ(mine["logprobs"], choice["logprobs"]["content"]);
    std::string joined;
    for (const json& one : choice["logprobs"]["content"]) {
      joined += one["token"];
      EXPECT_EQ(one["bytes"].size(), 1U);
      EXPECT_EQ(one["top_logprobs"].size(), 1U);
    }
    EXPECT_EQ(joined, choice["message"]["content"].get<std::string>());
  }
}

TEST_F(CompletionsTest, ATokenOfHalfACharacterKeepsItsBytes) {
  engine_.play([](const engine::Generate&) { return Script{.steps = {{0xc3}, {0xa9}}}; });
  const json answer = json::parse(ask(post(chat(R"(,"logprobs":true)"))).body)["choices"][0];
  EXPECT_EQ(answer["message"]["content"], "\xc3\xa9");
  EXPECT_EQ(answer["logprobs"]["content"][0]["bytes"], json({0xc3}));
  EXPECT_EQ(answer["logprobs"]["content"][0]["token"], "\xef\xbf\xbd");
  EXPECT_EQ(answer["logprobs"]["content"][1]["bytes"], json({0xa9}));
}

TEST_F(CompletionsTest, UsageCanComeInEveryChunk) {
  int32_t last = -1;
  for (
      const json& event : events(post(chat(
          R"(,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true})")))) {
    ASSERT_TRUE(event["usage"].is_object());
    EXPECT_GE(event["usage"]["completion_tokens"].get<int32_t>(), last);
    last = event["usage"]["completion_tokens"];
  }
  EXPECT_EQ(last, 3);
}

TEST_F(CompletionsTest, StopReasonNamesWhatEndedAChoice) {
  EXPECT_EQ(complete(R"("ab")", R"(,"stop":["q","a"])")["choices"][0]["stop_reason"], "a");
  EXPECT_EQ(
      complete(R"("ab")", R"(,"stop":"a","include_stop_str_in_output":true)")["choices"][0]["text"],
      "0a");
  engine_.play([](const engine::Generate& work) {
    Script script{.steps = {{'x'}}};
    script.stop_token = work.stop_tokens.front();
    return script;
  });
  EXPECT_EQ(complete(R"("ab")", R"(,"stop_token_ids":[7])")["choices"][0]["stop_reason"], 7);
  EXPECT_TRUE(complete(R"("ab")")["choices"][0]["stop_reason"].is_null()) << "its own end";
  const auto stops = std::get<engine::Generate>(engine_.requests().back()->work).stop_tokens;
  EXPECT_EQ(stops, std::vector<Token>{testing::kEos});
}

TEST_F(CompletionsTest, WhatTheEngineGetsIsWhatWasAsked) {
  complete(R"("ab")", R"(,"min_p":0.5,"logit_bias":{"5":2},"bad_words":["q"],"min_tokens":2,)"
                      R"("ignore_eos":true,"stop_token_ids":[9],"presence_penalty":1.5)");
  const auto& work = std::get<engine::Generate>(engine_.requests().back()->work);
  EXPECT_EQ(work.sampling.min_p, 0.5F);
  EXPECT_EQ(work.sampling.presence_penalty, 1.5F);
  EXPECT_EQ(work.sampling.bias.at(0).token, 5);
  EXPECT_EQ(work.sampling.min_tokens, 2);
  EXPECT_EQ(work.stop_tokens, std::vector<Token>{9});
  EXPECT_EQ(work.sampling.bad_words,
            (std::vector<std::vector<Token>>{tokens_of("q"), tokens_of(" q")}));
  EXPECT_FALSE(work.logprobs || work.prompt_logprobs);
}

TEST_F(CompletionsTest, LogprobsThatNoOneCanHoldAreRefused) {
  const std::string many = R"(,"max_tokens":1000,"logprobs":20,"n":60)";
  EXPECT_EQ(complete(R"("ab")", many, 400)["error"]["param"], "logprobs");
  EXPECT_EQ(complete(R"("ab")", R"(,"max_tokens":700,"logprobs":20,"n":60)")["choices"].size(),
            60U);
  EXPECT_FALSE(
      events(post_to("/v1/completions", body(R"("ab")", many + R"(,"stream":true)"))).empty());
  EXPECT_EQ(ask(post(chat(R"(,"logprobs":true,"top_logprobs":20,"n":64)"))).status, 400);
}

// When one choice fails, all end, with one outcome; what the engine still runs is cancelled.
TEST_F(CompletionsTest, AFailingChoiceFailsTheAnswerOnce) {
  engine_.play([](const engine::Generate& work) {
    if (work.sampling.choice == 1) {
      return Script{.steps = {}, .outcome = Outcome::kError, .error = invalid("no token left")};
    }
    return Script{.steps = {{'x'}}, .endless = true, .pause = std::chrono::milliseconds(1)};
  });
  const json answer = complete(R"("ab")", R"(,"n":3)", 400);
  EXPECT_EQ(answer["error"]["message"], "no token left");
  EXPECT_TRUE(engine_.wait([&] { return engine_.running() == 0; }));
  EXPECT_EQ(metric("o3_requests_total{outcome=\"error\"}"), 1);
}

TEST_F(CompletionsTest, WhenTheQueueIsFullForOneChoiceNoneGoesOn) {
  engine_.play([](const engine::Generate& work) {
    Script script{.steps = {{'x'}}, .endless = true, .pause = std::chrono::milliseconds(1)};
    if (work.sampling.choice == 2)
      script.refusal = Error{Code::kExhausted, "the queue is full", {}};
    return script;
  });
  complete(R"("ab")", R"(,"n":4)", 503);
  EXPECT_TRUE(engine_.wait([&] { return engine_.running() == 0; }));
  EXPECT_EQ(metric("o3_requests_refused_total{status=\"503\"}"), 1);
}

}  // namespace
}  // namespace o3::api
