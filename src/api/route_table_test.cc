// SPDX-License-Identifier: Apache-2.0
#include "api/route_table.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/openapi.h"

namespace o3::api {
namespace {

Route row(std::string_view method, std::string path, govern::Action action,
          govern::Access access = govern::Access::kKey) {
  return {method, std::move(path), action, access, 0, {}, {}};
}

RouteTable table() {
  return RouteTable({row("GET", "/v1/models", govern::Action::kListModels),
                     row("GET", "/v1/models/{id}", govern::Action::kListModels),
                     row("POST", "/v1/chat/completions", govern::Action::kChat),
                     row("POST", "/v1/completions", govern::Action::kComplete)});
}

TEST(RouteTable, NamesTheAddressThatWasMeant) {
  const RouteTable rows = table();
  EXPECT_EQ(rows.near("/v1/chat/completion"), "/v1/chat/completions");
  EXPECT_EQ(rows.near("/chat/completions"), "/v1/chat/completions");
  EXPECT_EQ(rows.near("/chat/completion"), "/v1/chat/completions");
  EXPECT_EQ(rows.near("/v1/v1/chat/completions"), "/v1/chat/completions");
  EXPECT_EQ(rows.near("/v1/chat/completions/"), "/v1/chat/completions");
  EXPECT_EQ(rows.near("/v1/Models"), "/v1/models");
  EXPECT_EQ(rows.near("/models"), "/v1/models");
  EXPECT_EQ(rows.near("/v2/health/live"), "");
  EXPECT_EQ(rows.near("/"), "");
  EXPECT_EQ(rows.near("/v1"), "");
  EXPECT_EQ(rows.near(std::string(1000, 'v')), "");
}

TEST(OpenApi, HasEveryDocumentedRowAndItsFields) {
  std::vector<Route> rows;
  rows.push_back(documented({.summary = "Answer", .request = "ChatRequest", .streams = true},
                            row("POST", "/v1/chat/completions", govern::Action::kChat)));
  rows.push_back(documented({.summary = "One model"},
                            row("GET", "/v1/models/{id}", govern::Action::kListModels)));
  rows.push_back(row("GET", "/page.js", govern::Action::kReadPage, govern::Access::kPublic));
  const auto document = nlohmann::json::parse(openapi_document(rows));
  EXPECT_EQ(document["paths"].size(), 2U);
  const auto& chat = document["paths"]["/v1/chat/completions"]["post"];
  EXPECT_EQ(chat["requestBody"]["content"]["application/json"]["schema"]["$ref"],
            "#/components/schemas/ChatRequest");
  EXPECT_TRUE(chat["responses"]["200"]["content"].contains("text/event-stream"));
  EXPECT_TRUE(chat["responses"].contains("401"));
  EXPECT_EQ(document["paths"]["/v1/models/{id}"]["get"]["parameters"][0]["name"], "id");
  const auto& schemas = document["components"]["schemas"];
  EXPECT_EQ(schemas["ChatRequest"]["properties"]["temperature"]["maximum"], 2);
  EXPECT_FALSE(schemas["ChatRequest"]["properties"].contains("prompt"));
  EXPECT_FALSE(schemas["ChatRequest"]["properties"].contains("tools"));
  EXPECT_EQ(schemas["ChatRequest"]["properties"]["logprobs"]["type"], "boolean");
  EXPECT_EQ(schemas["CompletionRequest"]["properties"]["logprobs"]["type"], "integer");
}

}  // namespace
}  // namespace o3::api
