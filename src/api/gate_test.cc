// SPDX-License-Identifier: Apache-2.0
#include "api/gate.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/api_error.h"
#include "api/host_guard.h"
#include "api/route_table.h"

namespace o3::api {
namespace {

using govern::Access;
using govern::Action;

// Only the gate makes these.
static_assert(!std::is_constructible_v<Authorized<Action::kChat>, Permit>);
static_assert(!std::is_default_constructible_v<Authorized<Action::kChat>>);
static_assert(!std::is_copy_constructible_v<Authorized<Action::kChat>>);
static_assert(!std::is_constructible_v<Admission, govern::Principal, Action, Access>);

class RecordingAudit final : public govern::AuditLog {
 public:
  Result<std::unique_ptr<govern::AuditRecord>> open(const govern::AuditOpen& what) override {
    if (fails) return unavailable("the audit log is full");
    opened.push_back(what.model);
    return govern::NoAudit().open(what);
  }
  void denied(const govern::AuditOpen& what) noexcept override { denials.push_back(what.model); }

  bool fails = false;
  std::vector<std::string> opened, denials;
};

class GateTest : public testing::Test {
 protected:
  static constexpr std::string_view kKey = "o3-some-key";
  std::string header(std::string_view key, std::string_view scheme = "Bearer ") {
    return std::string(scheme) + std::string(key);
  }
  Result<Admission> admit(Action action, Access access, const std::string& authorization) {
    return gate_.admit(action, access, &authorization);
  }

  govern::KeyStore keys_{{{.id = "k",
                           .sha256 = govern::KeyDigest::of(kKey),
                           .created = "c",
                           .tenant = "acme",
                           .request_class = RequestClass::kLow,
                           .models = {"small"}}}};
  govern::PageToken page_ = *govern::PageToken::create();
  govern::UnlimitedQuota quota_;
  RecordingAudit audit_;
  Gate gate_{{.keys = &keys_, .page_token = &page_, .quota = quota_, .audit = audit_}};
};

TEST_F(GateTest, TakesBearerCredentialsOnly) {
  EXPECT_TRUE(admit(Action::kChat, Access::kKey, header(kKey)).ok());
  EXPECT_TRUE(admit(Action::kChat, Access::kKey, header(kKey, "bearer   ")).ok());
  for (const std::string& bad : {std::string(), std::string("Bearer"), std::string("Bearer "),
                                 header(kKey, ""), header(kKey, "Basic "), header("o3-wrong"),
                                 header(kKey) + "x", header(std::string(kKey) + " ")}) {
    const auto refused = admit(Action::kChat, Access::kKey, bad);
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_EQ(refused.error().code, Code::kUnauthenticated);
    EXPECT_EQ(refused.error().message.find("o3-"), std::string::npos) << "repeats the credential";
  }
  EXPECT_EQ(gate_.admit(Action::kChat, Access::kKey, nullptr).error().code, Code::kUnauthenticated);
  EXPECT_TRUE(gate_.admit(Action::kReadHealth, Access::kPublic, nullptr).ok());
}

TEST_F(GateTest, ThePageTokenOpensItsRowsOnly) {
  const std::string page = header(page_.text().reveal());
  EXPECT_TRUE(admit(Action::kChat, Access::kKeyOrPageToken, page).ok());
  EXPECT_EQ(admit(Action::kReadMetrics, Access::kKey, page).error().code, Code::kDenied);
}

TEST_F(GateTest, AModelThatMayNotBeUsedIsAsIfItWereNotThere) {
  const auto admission = admit(Action::kChat, Access::kKey, header(kKey));
  const auto small = gate_.authorize<Action::kChat>(*admission, {"small"}, "r1");
  ASSERT_TRUE(small.ok());
  EXPECT_EQ((*small)->principal.tenant, "acme");
  EXPECT_EQ((*small)->principal.request_class, RequestClass::kLow);
  EXPECT_TRUE((*small)->audit.open());
  EXPECT_NE((*small)->quota, nullptr);
  const auto large = gate_.authorize<Action::kChat>(*admission, {"large"}, "r2");
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().code, Code::kNotFound);
  EXPECT_EQ(large.error().message, unknown_model("large").message);
  EXPECT_EQ(audit_.opened, std::vector<std::string>{"small"});
  EXPECT_EQ(audit_.denials, std::vector<std::string>{"large"});
}

TEST_F(GateTest, NoAuditRecordNoPermission) {
  audit_.fails = true;
  const auto admission = admit(Action::kChat, Access::kKey, header(kKey));
  const auto refused = gate_.authorize<Action::kChat>(*admission, {"small"}, "r");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(api_error(refused.error()).status, 503);
}

TEST_F(GateTest, PublicRowsLeaveNoRecord) {
  const auto admission = gate_.admit(Action::kReadHealth, Access::kPublic, nullptr);
  EXPECT_TRUE(gate_.authorize<Action::kReadHealth>(*admission, {}, "r").ok());
  EXPECT_TRUE(audit_.opened.empty());
}

using GateDeathTest = GateTest;
TEST_F(GateDeathTest, AnAdmissionIsGoodForItsOwnActionOnly) {
  const auto admission = admit(Action::kListModels, Access::kKey, header(kKey));
  EXPECT_DEATH(static_cast<void>(gate_.authorize<Action::kChat>(*admission, {"small"}, "r")),
               "admitted for another action");
}

TEST(GateWithoutKeys, EveryoneIsTheLocalUser) {
  govern::UnlimitedQuota quota;
  RecordingAudit audit;
  const Gate gate({.keys = nullptr, .page_token = nullptr, .quota = quota, .audit = audit});
  const auto admission = gate.admit(Action::kReadMetrics, Access::kKey, nullptr);
  ASSERT_TRUE(admission.ok());
  EXPECT_EQ(admission->principal().kind, govern::PrincipalKind::kLocal);
}

Route row(std::string_view method, std::string path, Action action = Action::kChat,
          Access access = Access::kKey) {
  return {method, std::move(path), action, access, 0, {}};
}

TEST(RouteTableTest, MatchesExactPathsAndIds) {
  const RouteTable table({row("GET", "/v1/models"), row("GET", "/v1/models/{id}"),
                          row("POST", "/v1/chat/completions"), row("GET", "/v1/chat/completions")});
  const auto path = [&](std::string_view method, std::string_view target) -> std::string {
    const auto match = table.match(method, target);
    if (const auto* found = std::get_if<const Route*>(&match)) return (*found)->path;
    if (const auto* other = std::get_if<RouteTable::MethodNotAllowed>(&match)) return other->allow;
    return "-";
  };
  EXPECT_EQ(path("GET", "/v1/models"), "/v1/models");
  EXPECT_EQ(path("HEAD", "/v1/models"), "/v1/models");
  EXPECT_EQ(path("GET", "/v1/models/a/b"), "/v1/models/{id}");
  EXPECT_EQ(path("GET", "/v1/models/"), "-");
  EXPECT_EQ(path("GET", "/v1/Models"), "-");
  EXPECT_EQ(path("GET", "/v1//models"), "-");
  EXPECT_EQ(path("GET", "/v1/chat/../models"), "-");
  EXPECT_EQ(path("DELETE", "/v1/models"), "GET, HEAD");
  EXPECT_EQ(path("PUT", "/v1/chat/completions"), "POST, GET, HEAD");
  EXPECT_EQ(path_id("/v1/models/{id}", "/v1/models/a%2Fb%20c"), "a/b c");
  EXPECT_EQ(path_id("/v1/models/{id}", "/v1/models/a%2"), "");
  EXPECT_EQ(path_id("/v1/models/{id}", "/v1/models/%zz"), "");
}

TEST(RouteTableDeathTest, RefusesAPublicRowThatNeedsAKey) {
  EXPECT_DEATH(RouteTable({row("GET", "/x", Action::kReadMetrics, Access::kPublic)}), "public row");
  EXPECT_DEATH(RouteTable({row("GET", "/x"), row("GET", "/x")}), "given twice");
}

TEST(HostGuardTest, AcceptsLoopbackNamesWithAnyPort) {
  const HostGuard guard(true, {"octo.internal"});
  const auto accepts = [&](const std::string& host) { return guard.accepts(&host); };
  for (const char* good : {"localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:1", "[::1]",
                           "[::1]:80", "octo.internal", "octo.internal:9"}) {
    EXPECT_TRUE(accepts(good)) << good;
  }
  for (const char* bad :
       {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:80",
        "localhost:80:80", "localhost:x", "[::1", "::1", "127.0.0.2", "localhost@evil"}) {
    EXPECT_FALSE(accepts(bad)) << bad;
  }
  EXPECT_FALSE(guard.accepts(nullptr));
  EXPECT_TRUE(HostGuard(false, {}).accepts(nullptr));
}

TEST(ApiErrorTest, EveryCodeHasAStatusAndAnObject) {
  for (int code = 0; code <= static_cast<int>(Code::kInternal); ++code) {
    const ApiError error =
        api_error({static_cast<Code>(code), "a \"quoted\" reason", "messages[0]"});
    EXPECT_GE(error.status, 400);
    const auto json = nlohmann::json::parse(error_body(error));
    ASSERT_EQ(json["error"].size(), 4U);
    EXPECT_EQ(json["error"]["param"], "messages[0]");
    EXPECT_EQ(json["error"]["type"], std::string(error.type));
  }
  const ApiError hidden = api_error({Code::kInternal, "pointer 0x1234", ""});
  EXPECT_EQ(hidden.message.find("0x1234"), std::string::npos);
  EXPECT_TRUE(nlohmann::json::parse(error_body(hidden))["error"]["param"].is_null());
}

TEST(ApiErrorTest, SaysWhetherToTryAgain) {
  const auto field = [](const http::Response& response, std::string_view name) {
    for (const auto& [key, value] : response.fields) {
      if (key == name) return value;
    }
    return std::string();
  };
  const auto busy = error_response(api_error({Code::kExhausted, "full", ""}));
  EXPECT_EQ(field(busy, "Retry-After"), "1");
  EXPECT_EQ(field(busy, "retry-after-ms"), "1000");
  const auto broken = error_response(api_error({Code::kInternal, "", ""}));
  EXPECT_EQ(field(broken, "x-should-retry"), "false");
  const auto key = error_response(api_error({Code::kUnauthenticated, "", ""}));
  EXPECT_EQ(field(key, "WWW-Authenticate"), "Bearer");
}

}  // namespace
}  // namespace o3::api
