// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/testing/server_fixture.h"

namespace o3::api::testing {
namespace {

using nlohmann::json;

using ManageTest = ServerFixture;

TEST_F(ManageTest, ModelsAreListedWithTheirState) {
  start();
  const auto all = json::parse(ask(get("/models")).body);
  ASSERT_EQ(all["data"].size(), 3U);
  EXPECT_EQ(all["data"][0]["id"], "octo");
  EXPECT_EQ(all["data"][0]["status"]["value"], "loaded");
  EXPECT_EQ(all["data"][1]["status"]["value"], "unloaded");
  EXPECT_EQ(all["data"][2]["status"]["value"], "failed");
  EXPECT_EQ(all["data"][2]["status"]["error"], "no \"room\"");
  const auto some = json::parse(ask(get("/models", kOtherKey)).body);
  ASSERT_EQ(some["data"].size(), 1U);
  EXPECT_EQ(some["data"][0]["id"], "other");
}

TEST_F(ManageTest, LoadAndUnloadAnswerAtOnce) {
  start();
  RawResponse response = ask(post_to("/models/load", R"({"model":"other"})"));
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(json::parse(response.body)["success"], true);
  EXPECT_EQ(ask(post_to("/models/load", R"({"model":"other"})")).status, 409);
  EXPECT_EQ(ask(post_to("/models/unload", R"({"model":"octo"})")).status, 200);
  const auto all = json::parse(ask(get("/models")).body);
  EXPECT_EQ(all["data"][0]["status"]["value"], "unloading");
  EXPECT_EQ(all["data"][1]["status"]["value"], "loading");
}

TEST_F(ManageTest, WhatIsWrongIsToldAndWhoMayNotIsRefused) {
  start();
  EXPECT_EQ(ask(post_to("/models/load", R"({"model":"none"})")).status, 404);
  EXPECT_EQ(ask(post_to("/models/load", R"({})")).status, 400);
  EXPECT_EQ(ask(post_to("/models/load", R"({"model":7})")).status, 400);
  EXPECT_EQ(ask(post_to("/models/unload", R"([])")).status, 400);
  EXPECT_EQ(ask(post_to("/models/load", R"({"model":"other"})", "o3-wrong")).status, 401);
  // A key for one model may not take it from the others.
  EXPECT_EQ(ask(post_to("/models/load", R"({"model":"other"})", kOtherKey)).status, 403);
  EXPECT_EQ(ask(post_to("/models/unload", R"({"model":"octo"})", kOtherKey)).status, 404);
}

}  // namespace
}  // namespace o3::api::testing
