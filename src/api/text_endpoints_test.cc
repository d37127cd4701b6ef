// SPDX-License-Identifier: Apache-2.0
// /tokenize, /detokenize, /apply-template, and what else a client asks before it sends a prompt.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/testing/server_fixture.h"

namespace o3::api {
namespace {

using nlohmann::json;
using testing::RawResponse;
using testing::tokens_of;

class TextTest : public testing::ServerFixture {
 protected:
  json answer(std::string_view path, std::string_view body, int status = 200) {
    const RawResponse response = ask(post_to(path, body));
    EXPECT_EQ(response.status, status) << path << " " << body << ": " << response.body;
    return json::parse(response.body);
  }
};

TEST_F(TextTest, TokenizeKnowsTheFormsOfBothServers) {
  start();
  const json vllm =
      answer("/tokenize", R"({"model":"octo","prompt":"ab","return_token_strs":true})");
  EXPECT_EQ(vllm["count"], 2);
  EXPECT_EQ(vllm["max_model_len"], 1024);
  EXPECT_EQ(vllm["tokens"], json(tokens_of("ab")));
  EXPECT_EQ(vllm["token_strs"], json({"a", "b"}));
  const json llama = answer("/tokenize", R"({"content":"ab"})");
  EXPECT_EQ(llama["tokens"], json(tokens_of("ab")));
  EXPECT_TRUE(llama["token_strs"].is_null());
  const json pieces = answer("/tokenize", R"({"content":"a\u00e9","with_pieces":true})");
  EXPECT_EQ(pieces["tokens"][0], json({{"id", 97}, {"piece", "a"}}));
  EXPECT_EQ(pieces["tokens"][1], json({{"id", 195}, {"piece", json::array({195})}}));
  const json chat = answer("/tokenize", R"({"messages":[{"role":"user","content":"hi"}]})");
  EXPECT_EQ(chat["tokens"], json(tokens_of("user:hi\nassistant:")));
  EXPECT_EQ(answer("/tokenize", R"({"model":"octo-latest","prompt":""})")["count"], 0);
}

TEST_F(TextTest, DetokenizeGivesTheTextUnderBothNames) {
  start();
  const json text = answer("/detokenize", R"({"tokens":[99,97,102,195,169]})");
  EXPECT_EQ(text["prompt"], "caf\xc3\xa9");
  EXPECT_EQ(text["content"], "caf\xc3\xa9");
  EXPECT_EQ(answer("/detokenize", R"({"tokens":[]})")["content"], "");
}

TEST_F(TextTest, ApplyTemplateShowsThePrompt) {
  start();
  EXPECT_EQ(answer("/apply-template", R"({"messages":[{"role":"user","content":"hi"}],)"
                                      R"("chat_template_kwargs":{"title":"T\n"}})")["prompt"],
            "T\nuser:hi\nassistant:");
  EXPECT_EQ(
      answer("/apply-template",
             R"({"messages":[{"role":"user","content":"hi"},)"
             R"({"role":"assistant","content":"we"}],"continue_final_message":true})")["prompt"],
      "user:hi\nassistant:we");
}

TEST_F(TextTest, WhatIsWrongIsNamed) {
  start();
  struct Bad {
    const char* path;
    const char* body;
    int status;
    const char* param;
  };
  for (const Bad& bad : {
           Bad{"/tokenize", "{}", 400, "prompt"},
           Bad{"/tokenize", R"({"prompt":7})", 400, "prompt"},
           Bad{"/tokenize", R"({"content":"x","with_pieces":1})", 400, "with_pieces"},
           Bad{"/tokenize", R"({"model":"none","prompt":"x"})", 404, "model"},
           Bad{"/tokenize", R"({"messages":[]})", 400, "messages"},
           Bad{"/detokenize", "{}", 400, "tokens"},
           Bad{"/detokenize", R"({"tokens":[259]})", 400, "tokens[0]"},
           Bad{"/detokenize", R"({"tokens":[1.5]})", 400, "tokens[0]"},
           Bad{"/apply-template", R"({"prompt":"x"})", 400, "messages"},
       }) {
    EXPECT_EQ(answer(bad.path, bad.body, bad.status)["error"]["param"], bad.param) << bad.body;
  }
  answer("/tokenize", R"({"prompt":"x","zeta":1})");
  EXPECT_EQ(metric("o3_unknown_fields_total"), 1);
}

TEST_F(TextTest, AKeyReachesOnlyItsModels) {
  start();
  const std::string body = R"({"content":"x"})";
  EXPECT_EQ(ask(post_to("/tokenize", body, kOtherKey)).status, 200) << "the first it may use";
  EXPECT_EQ(ask(post_to("/tokenize", R"({"model":"octo","content":"x"})", kOtherKey)).status, 404);
  EXPECT_EQ(ask(post_to("/tokenize", body, "wrong")).status, 401);
}

TEST_F(TextTest, AnAliasIsTheModelAndSaysSo) {
  start();
  const json alias = json::parse(ask(get("/v1/models/octo-latest")).body);
  EXPECT_EQ(alias["id"], "octo-latest");
  EXPECT_EQ(alias["root"], "octo");
  EXPECT_EQ(alias["max_model_len"], 1024);
  const json list = json::parse(ask(get("/v1/models", kOtherKey)).body)["data"];
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0]["id"], "other");
  EXPECT_EQ(list[1]["id"], "other-latest");
  EXPECT_EQ(ask(get("/v1/models/octo-latest", kOtherKey)).status, 404);
}

TEST_F(TextTest, HealthIsReadinessAsJson) {
  start();
  EXPECT_EQ(ask(get("/health", "")).body, R"({"status":"ok"})");
  engine_.set_ready(false);
  const RawResponse sick = ask(get("/health", ""));
  EXPECT_EQ(sick.status, 503);
  EXPECT_TRUE(json::parse(sick.body).contains("error"));
}

TEST_F(TextTest, TheOpenApiDocumentNamesEveryAddress) {
  start();
  const RawResponse response = ask(get("/openapi.json", ""));
  EXPECT_EQ(response.status, 200);
  const json paths = json::parse(response.body)["paths"];
  for (const char* path : {"/livez", "/readyz", "/health", "/metrics", "/openapi.json",
                           "/v1/models", "/v1/models/{id}", "/v1/chat/completions",
                           "/v1/completions", "/tokenize", "/detokenize", "/apply-template"}) {
    EXPECT_TRUE(paths.contains(path)) << path;
  }
  EXPECT_EQ(paths.size(), 15U);
}

TEST_F(TextTest, AddressesAndCredentialsThatAreNearlyRightAreExplained) {
  start();
  const auto message = [&](const std::string& request) {
    return json::parse(ask(request).body)["error"]["message"].get<std::string>();
  };
  EXPECT_NE(message(get("/chat/completions")).find("Did you mean /v1/chat/completions?"),
            std::string::npos);
  EXPECT_EQ(message(get("/nothing/like/it")).find("Did you mean"), std::string::npos);
  const auto with = [](const char* field) {
    return "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nAuthorization: " + std::string(field) +
           "\r\n\r\n";
  };
  EXPECT_NE(message(with("Basic dXNlcjpwYXNz")).find("Bearer KEY"), std::string::npos);
  EXPECT_NE(message(with("Bearer ")).find("is empty"), std::string::npos);
  EXPECT_NE(message(with("o3-key-alone")).find("must be \"Bearer KEY\""), std::string::npos);
  EXPECT_NE(message(with("Bearer wrong")).find("not known"), std::string::npos);
}

}  // namespace
}  // namespace o3::api
