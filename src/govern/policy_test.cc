// SPDX-License-Identifier: Apache-2.0
#include "govern/policy.h"

#include <gtest/gtest.h>

#include <array>
#include <sstream>

#include "govern/page_token.h"

namespace o3::govern {
namespace {

constexpr std::array kActions{Action::kReadHealth,  Action::kReadPage,   Action::kReadApi,
                              Action::kReadMetrics, Action::kListModels, Action::kManageModels,
                              Action::kTokenize,    Action::kChat,       Action::kComplete};
constexpr std::array kAccess{Access::kPublic, Access::kKey, Access::kKeyOrPageToken};

Principal of(PrincipalKind kind, std::vector<std::string> models = {"*"}) {
  return {.kind = kind, .id = "svc:test", .tenant = "t", .models = std::move(models)};
}

TEST(Policy, AnonymousReachesPublicRowsAndNothingElse) {
  const Principal nobody = of(PrincipalKind::kAnonymous);
  for (const Action action : kActions) {
    for (const Access access : kAccess) {
      EXPECT_EQ(decide(nobody, access, action, {"m"}).allowed, access == Access::kPublic);
    }
  }
}

TEST(Policy, AnUnlistedModelIsDenied) {
  const Principal key = of(PrincipalKind::kApiKey, {"small", "large"});
  EXPECT_TRUE(decide(key, Access::kKey, Action::kChat, {"small"}).allowed);
  const Decision denied = decide(key, Access::kKey, Action::kChat, {"smal"});
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.rule, "model-list");
  EXPECT_FALSE(decide(key, Access::kKey, Action::kChat, {"*"}).allowed);
  EXPECT_FALSE(decide(of(PrincipalKind::kApiKey, {}), Access::kKey, Action::kChat, {"a"}).allowed);
  EXPECT_FALSE(decide(key, Access::kKey, Action::kChat, {}).allowed) << "no model";
}

TEST(Policy, OnlyAKeyForAllModelsManagesThem) {
  const Principal all = of(PrincipalKind::kApiKey);
  EXPECT_TRUE(decide(all, Access::kKey, Action::kManageModels, {"m"}).allowed);
  const Principal one = of(PrincipalKind::kApiKey, {"m"});
  EXPECT_EQ(decide(one, Access::kKey, Action::kManageModels, {"m"}).rule, "key-manager");
  EXPECT_FALSE(decide(one, Access::kKey, Action::kManageModels, {"m"}).allowed);
}

TEST(Policy, ThePageTokenIsGoodForItsRowsOnly) {
  const Principal page = of(PrincipalKind::kPageToken);
  EXPECT_TRUE(decide(page, Access::kKeyOrPageToken, Action::kChat, {"m"}).allowed);
  EXPECT_TRUE(decide(page, Access::kKeyOrPageToken, Action::kListModels, {}).allowed);
  for (const Action action : kActions) {
    EXPECT_FALSE(decide(page, Access::kKey, action, {"m"}).allowed);
  }
}

TEST(Policy, WhatNoRuleAllowsIsDenied) {
  const Principal key = of(PrincipalKind::kApiKey);
  EXPECT_FALSE(decide(key, Access::kKey, Action::kReadPage, {}).allowed);
  EXPECT_EQ(decide(key, Access::kKey, Action::kReadPage, {}).rule, "default-deny");
  EXPECT_FALSE(Decision{}.allowed);
}

TEST(PageTokenTest, OnlyItsOwnTextIsKnown) {
  const auto token = PageToken::create();
  ASSERT_TRUE(token.ok());
  const std::string text = token->text().reveal();
  EXPECT_TRUE(text.starts_with("o3page-"));
  EXPECT_EQ(token->find(text)->kind, PrincipalKind::kPageToken);
  EXPECT_FALSE(token->find(text.substr(1)).has_value());
  EXPECT_FALSE(PageToken::create()->find(text).has_value());
}

template <class T>
concept Printable = requires(std::ostringstream out, const T& value) { out << value; };
static_assert(Printable<std::string>);
static_assert(!Printable<Secret<std::string>>);
static_assert(!std::is_copy_constructible_v<Secret<std::string>>);
static_assert(!std::is_convertible_v<Secret<std::string>, std::string>);

}  // namespace
}  // namespace o3::govern
