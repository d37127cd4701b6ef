// SPDX-License-Identifier: Apache-2.0
#include "api/model_table.h"

#include <gtest/gtest.h>

namespace o3::api {
namespace {

std::shared_ptr<const ServedModel> model(std::string id, std::vector<std::string> aliases = {}) {
  auto made = std::make_shared<ServedModel>();
  made->id = std::move(id);
  made->aliases = std::move(aliases);
  return made;
}

TEST(ModelTable, FindsByNameAndAlias) {
  ModelTable table;
  EXPECT_EQ(table.find("a"), nullptr);
  ASSERT_TRUE(table.add(model("a", {"x", "y"})).ok());
  ASSERT_TRUE(table.add(model("b")).ok());
  EXPECT_EQ(table.find("a")->id, "a");
  EXPECT_EQ(table.find("y")->id, "a");
  EXPECT_EQ(table.find("b")->id, "b");
  EXPECT_EQ(table.find(""), nullptr);
}

TEST(ModelTable, ANameIsGivenOnce) {
  ModelTable table;
  ASSERT_TRUE(table.add(model("a", {"x"})).ok());
  for (const auto& twice : {model("a"), model("x"), model("b", {"a"}), model("b", {"x"}),
                            model("b", {"c", "c"}), model("b", {"b"})}) {
    const auto added = table.add(twice);
    ASSERT_FALSE(added.ok());
    EXPECT_EQ(added.error().param, "models");
    EXPECT_NE(added.error().message.find("twice"), std::string::npos);
  }
  EXPECT_FALSE(table.add(model("a b")).ok());
  EXPECT_FALSE(table.add(model("b", {""})).ok());
  EXPECT_EQ(table.all()->size(), 1U);
}

TEST(ModelTable, WhatLeftIsNotFoundAndMayComeBack) {
  ModelTable table;
  ASSERT_TRUE(table.add(model("a", {"x"})).ok());
  const auto before = table.all();
  EXPECT_EQ(table.remove("x"), nullptr) << "an alias is not an id";
  EXPECT_EQ(table.remove("a")->id, "a");
  EXPECT_EQ(table.remove("a"), nullptr);
  EXPECT_EQ(table.find("x"), nullptr);
  EXPECT_EQ(before->size(), 1U) << "who looked before keeps what was there";
  EXPECT_TRUE(table.add(model("b", {"a", "x"})).ok());
}

}  // namespace
}  // namespace o3::api
