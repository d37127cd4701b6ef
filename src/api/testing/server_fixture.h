// SPDX-License-Identifier: Apache-2.0
// For tests only: a server with a fake engine, one model "octo" and one key per kind of access.
#pragma once

#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <memory>
#include <string>
#include <vector>

#include "api/server.h"
#include "api/testing/fake_engine.h"
#include "api/testing/fake_manager.h"
#include "api/testing/fake_text.h"
#include "api/testing/raw_client.h"

namespace o3::api::testing {

class ServerFixture : public ::testing::Test {
 protected:
  static constexpr std::string_view kKey = "o3-test-key-for-everything";
  static constexpr std::string_view kOtherKey = "o3-test-key-for-another-model";

  void SetUp() override {
    options_.http.io_threads = 2;
    add_models();
  }

  void start() {
    keys_ = std::make_unique<govern::KeyStore>(
        std::vector<govern::KeyRow>{row("all", kKey, {"*"}), row("other", kOtherKey, {"other"})});
    page_token_ = std::make_unique<govern::PageToken>(*govern::PageToken::create());
    auto made = Server::create(options_, parts());
    ASSERT_TRUE(made.ok()) << made.error().message;
    server_ = *std::move(made);
    server_->set_ready(true);
  }

  ServerParts parts() {
    return {.clock = clock_,
            .engine = engine_,
            .models = models_,
            .registry = registry_,
            .keys = *keys_,
            .page_token = *page_token_,
            .quota = *quota_,
            .audit = *audit_,
            .manager = &manager_};
  }

  void add_models() {
    const auto tokenizer = std::make_shared<ByteTokenizer>();
    // Only "octo" can be held to JSON.
    const auto factory_of = [](std::string_view id) {
      const auto none = [] { return std::unique_ptr<text::TokenConstraint>(); };
      return id == "octo" ? decltype(ServedModel::json_object)(none) : nullptr;
    };
    for (const char* id : {"octo", "other"}) {
      const auto added = models_.add(
          std::make_shared<ServedModel>(ServedModel{.id = id,
                                                    .aliases = {id + std::string("-latest")},
                                                    .created = 1700000000,
                                                    .tokenizer = tokenizer,
                                                    .render = render_plain,
                                                    .instance = {},
                                                    .revision = 7,
                                                    .context = 1024,
                                                    .stop_tokens = {kEos},
                                                    .json_object = factory_of(id)}));
      ASSERT_TRUE(added.ok()) << added.error().message;
    }
  }

  uint16_t port() const { return server_->port(); }

  static std::string get(std::string_view path, std::string_view key = kKey,
                         std::string_view more = "") {
    return "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" +
           (key.empty() ? "" : "Authorization: Bearer " + std::string(key) + "\r\n") +
           std::string(more) + "\r\n";
  }
  static std::string post(std::string_view body, std::string_view key = kKey,
                          std::string_view more = "") {
    return post_to("/v1/chat/completions", body, key, more);
  }
  static std::string post_to(std::string_view path, std::string_view body,
                             std::string_view key = kKey, std::string_view more = "") {
    return "POST " + std::string(path) +
           " HTTP/1.1\r\nHost: localhost\r\n"
           "Content-Type: application/json\r\nAuthorization: Bearer " +
           std::string(key) + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
           std::string(more) + "\r\n" + std::string(body);
  }
  // {"model":"octo","messages":[{"role":"user","content":"hi"}] MORE }
  static std::string chat(std::string_view more = "") {
    return R"({"model":"octo","messages":[{"role":"user","content":"hi"}])" + std::string(more) +
           "}";
  }
  RawResponse ask(std::string_view request) {
    RawClient client(port());
    EXPECT_TRUE(client.send(request));
    auto response = client.response();
    EXPECT_TRUE(response.has_value()) << "no answer to: " << request.substr(0, 200);
    if (response) {
      EXPECT_TRUE(has_id(*response)) << response->head;
    }
    return response.value_or(RawResponse{});
  }
  static bool has_id(const RawResponse& response) {
    const std::string id = response.field("X-Request-Id");
    return id.starts_with("req_") && id.size() > 12;
  }
  std::string metrics() { return prometheus::TextSerializer().Serialize(registry_.Collect()); }
  // The value of one series, -1 if there is none.
  double metric(const std::string& series) {
    const std::string text = "\n" + metrics();
    const size_t at = text.find("\n" + series + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + series.size() + 2));
  }

  SystemClock clock_;
  FakeEngine engine_;
  prometheus::Registry registry_;
  govern::UnlimitedQuota no_limits_;
  govern::NoAudit no_audit_;
  govern::Quota* quota_ = &no_limits_;
  govern::AuditLog* audit_ = &no_audit_;
  std::unique_ptr<govern::KeyStore> keys_;
  std::unique_ptr<govern::PageToken> page_token_;
  ServerOptions options_;
  ModelTable models_;
  FakeManager manager_;
  std::unique_ptr<Server> server_;

 private:
  static govern::KeyRow row(std::string id, std::string_view key, std::vector<std::string> models) {
    return {.id = std::move(id),
            .sha256 = govern::KeyDigest::of(key),
            .created = "2030-01-01T00:00:00Z",
            .tenant = "t",
            .request_class = RequestClass::kHigh,
            .models = std::move(models)};
  }
};

}  // namespace o3::api::testing
