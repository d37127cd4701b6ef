// SPDX-License-Identifier: Apache-2.0
// The HTTP layer over real sockets: framing, limits, time-outs, routes, access.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "api/testing/server_fixture.h"
#include "config/serve_settings.h"

namespace o3::api {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::RawClient;
using testing::RawResponse;
using testing::Script;
using testing::tokens_of;

class HttpTest : public testing::ServerFixture {
 protected:
  void SetUp() override {
    ServerFixture::SetUp();
    engine_.play([](const engine::Generate&) { return Script{.steps = {tokens_of("ok")}}; });
  }
  static std::string code(const RawResponse& response) {
    const auto parsed = json::parse(response.body, nullptr, false);
    if (!parsed.contains("error")) return "not an error object: " + response.body;
    const auto& error = parsed["error"];
    for (const char* name : {"message", "type", "param", "code"}) EXPECT_TRUE(error.contains(name));
    return error["code"].is_string() ? error["code"].get<std::string>() : "null";
  }
};

TEST_F(HttpTest, HealthAndPageArePublicTheRestIsNot) {
  start();
  EXPECT_EQ(ask(get("/livez", "")).status, 200);
  EXPECT_EQ(ask(get("/readyz", "")).status, 200);
  EXPECT_EQ(ask(get("/", "")).status, 200);
  for (const char* path : {"/metrics", "/v1/models", "/v1/models/octo"}) {
    const RawResponse refused = ask(get(path, ""));
    EXPECT_EQ(refused.status, 401) << path;
    EXPECT_EQ(code(refused), "invalid_api_key");
    EXPECT_EQ(refused.field("WWW-Authenticate"), "Bearer");
    EXPECT_EQ(ask(get(path, "o3-wrong")).status, 401);
    EXPECT_EQ(ask(get(path)).status, 200) << path;
  }
  EXPECT_EQ(ask(post(chat(), "o3-wrong")).status, 401);
  EXPECT_EQ(ask(post(chat())).status, 200);
}

TEST_F(HttpTest, ReadyFollowsModelsAndEngine) {
  start();
  server_->set_ready(false);
  EXPECT_EQ(ask(get("/readyz", "")).status, 503);
  EXPECT_EQ(ask(get("/livez", "")).status, 200);
  server_->set_ready(true);
  EXPECT_EQ(ask(get("/readyz", "")).status, 200);
  engine_.set_ready(false);
  EXPECT_EQ(ask(get("/readyz", "")).status, 503);
}

TEST_F(HttpTest, ThePageTokenIsGoodForChatAndModelsOnly) {
  start();
  const std::string token = page_token_->text().reveal();
  EXPECT_EQ(ask(get("/v1/models", token)).status, 200);
  EXPECT_EQ(ask(get("/v1/models/octo", token)).status, 200);
  EXPECT_EQ(ask(post(chat(), token)).status, 200);
  const RawResponse refused = ask(get("/metrics", token));
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(code(refused), "permission_denied");
  EXPECT_EQ(ask(get("/v1/models?token=" + token, "")).status, 401) << "never in a query";
}

TEST_F(HttpTest, KeysSeeTheModelsTheyMayUse) {
  start();
  const auto ids = [&](std::string_view key) {
    std::string all;
    const json list = json::parse(ask(get("/v1/models", key)).body);
    for (const auto& model : list["data"]) {
      EXPECT_EQ(model["object"], "model");
      EXPECT_EQ(model["created"], 1700000000);
      all += model["id"].get<std::string>() + " ";
    }
    return all;
  };
  EXPECT_EQ(ids(kKey), "octo octo-latest other other-latest ");
  EXPECT_EQ(ids(kOtherKey), "other other-latest ");
  EXPECT_EQ(json::parse(ask(get("/v1/models/octo")).body)["id"], "octo");
  for (const auto& refused : {ask(get("/v1/models/none")), ask(get("/v1/models/octo", kOtherKey)),
                              ask(post(chat(), kOtherKey)), ask(get("/v1/models/%6fcto%2f"))}) {
    EXPECT_EQ(refused.status, 404);
    EXPECT_EQ(code(refused), "model_not_found");
  }
  EXPECT_EQ(ask(get("/v1/models/%6fcto")).status, 200);
}

TEST_F(HttpTest, UnknownAddressesAndMethodsSaySo) {
  start();
  const RawResponse missing = ask(get("/v1/embeddings"));
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(code(missing), "unknown_url");
  const RawResponse method = ask(get("/v1/chat/completions"));
  EXPECT_EQ(method.status, 405);
  EXPECT_EQ(code(method), "method_not_allowed");
  EXPECT_EQ(method.field("Allow"), "POST");
  EXPECT_EQ(ask("DELETE /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n").field("Allow"),
            "GET, HEAD");
  // No CORS: a preflight is an unknown method, and nothing grants an origin.
  const RawResponse preflight =
      ask("OPTIONS /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil\r\n"
          "Access-Control-Request-Method: POST\r\n\r\n");
  EXPECT_EQ(preflight.status, 405);
  EXPECT_EQ(preflight.head.find("Access-Control"), std::string::npos);
}

TEST_F(HttpTest, ThePageCarriesItsSecurityFields) {
  start();
  const RawResponse page = ask(get("/", ""));
  EXPECT_EQ(page.field("Content-Type"), "text/html; charset=utf-8");
  const std::string policy = page.field("Content-Security-Policy");
  for (const char* part : {"default-src 'none'", "script-src 'self'", "base-uri 'none'",
                           "frame-ancestors 'none'", "form-action 'none'", "img-src 'self';"}) {
    EXPECT_NE(policy.find(part), std::string::npos) << policy;
  }
  EXPECT_EQ(policy.find("data:"), std::string::npos) << "no file of the page needs one";
  EXPECT_EQ(page.field("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(page.field("Referrer-Policy"), "no-referrer");
  const std::string etag = page.field("ETag");
  const RawResponse known = ask(get("/", "", "If-None-Match: " + etag + "\r\n"));
  EXPECT_EQ(known.status, 304);
  EXPECT_EQ(ask(get("/page/page.js", "")).field("Content-Type"), "text/javascript; charset=utf-8");
}

TEST_F(HttpTest, ALoopbackServerAnswersLoopbackNamesOnly) {
  options_.allowed_hosts = {"octo.test"};
  start();
  const auto status = [&](const std::string& host) {
    return ask("GET /livez HTTP/1.1\r\nHost: " + host + "\r\n\r\n").status;
  };
  EXPECT_EQ(status("127.0.0.1:" + std::to_string(port())), 200);
  EXPECT_EQ(status("octo.test:1234"), 200);
  EXPECT_EQ(status("evil.example"), 403);
  EXPECT_EQ(status("127.0.0.1.evil.example"), 403);
}

TEST_F(HttpTest, WithoutKeysOnlyOnLoopback) {
  options_.no_auth = true;
  start();
  EXPECT_EQ(ask(get("/metrics", "")).status, 200);
  EXPECT_EQ(ask(post(chat(), "whatever")).status, 200);
  // A page of another origin can post text/plain without asking; that is not taken.
  const std::string body = chat();
  const RawResponse simple =
      ask("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil\r\n"
          "Content-Type: text/plain\r\nContent-Length: " +
          std::to_string(body.size()) + "\r\n\r\n" + body);
  EXPECT_EQ(simple.status, 415);
  server_.reset();
  options_.http.host = "0.0.0.0";
  const auto made = Server::create(options_, parts());
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("loopback"), std::string::npos);
}

TEST_F(HttpTest, CreateRefusesWhatCannotBeServed) {
  start();
  ServerOptions options;
  options.http.port = port();
  EXPECT_EQ(Server::create(options, parts()).error().code, Code::kUnavailable);
  options.http.port = 0;
  options.http.host = "example.com";
  EXPECT_EQ(Server::create(options, parts()).error().param, "host");
  options.http.host = "127.0.0.1";
  for (const char* host : {"*", "", "*.octo.test", "octo.test:80", "http://octo.test", "octo.test/",
                           "::1", "a b", "[::1", "[octo]", "caf\xc3\xa9.test", "a,b"}) {
    options.allowed_hosts = {"octo.test", host};
    const auto made = Server::create(options, parts());
    ASSERT_FALSE(made.ok()) << host;
    EXPECT_EQ(made.error().code, Code::kInvalid);
    EXPECT_EQ(made.error().param, "allowed_hosts");
    EXPECT_NE(made.error().message.find("\"" + std::string(host) + "\""), std::string::npos);
  }
  options.allowed_hosts = {"octo.test", "Octo-1.test", "my_box", "192.168.0.7", "[fe80::1]"};
  EXPECT_TRUE(Server::create(options, parts()).ok());
  options.allowed_hosts.clear();
}

TEST_F(HttpTest, KeepsTheConnectionAndAnswersPipelinedRequestsInOrder) {
  start();
  RawClient client(port());
  std::string burst;
  for (int i = 0; i < 50; ++i) burst += get("/v1/models/octo") + get("/none") + post(chat());
  std::thread sender([&] { client.send(burst); });
  for (int i = 0; i < 50; ++i) {
    for (const int status : {200, 404, 200}) {
      const auto response = client.response();
      ASSERT_TRUE(response.has_value()) << i;
      EXPECT_EQ(response->status, status);
      EXPECT_EQ(response->field("Connection"), "keep-alive");
      EXPECT_TRUE(response->field("X-Request-Id").starts_with("req_"));
    }
  }
  sender.join();
  EXPECT_TRUE(client.send(get("/livez", "", "Connection: close\r\n")));
  EXPECT_EQ(client.response()->field("Connection"), "close");
  EXPECT_TRUE(client.closed());
}

TEST_F(HttpTest, HeadHasNoBodyAndHttp10Closes) {
  start();
  RawClient client(port());
  client.send("HEAD /livez HTTP/1.1\r\nHost: localhost\r\n\r\n" + get("/livez", ""));
  const auto head = client.response(true);
  EXPECT_EQ(head->field("Content-Length"), "6");
  EXPECT_EQ(client.response()->body, "alive\n");
  RawClient old(port());
  old.send("GET /livez HTTP/1.0\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(old.response()->status, 200);
  EXPECT_TRUE(old.closed());
}

TEST_F(HttpTest, QuickAnswersReachAClientThatClosedItsSendingHalf) {
  start();
  for (int i = 0; i < 20; ++i) {
    RawClient client(port());
    client.send(get("/livez", "") + get("/v1/models"));
    ::shutdown(client.fd(), SHUT_WR);
    ASSERT_TRUE(client.response().has_value());
    const auto second = client.response();
    ASSERT_TRUE(second.has_value());
    EXPECT_EQ(second->status, 200);
    EXPECT_TRUE(client.closed());
  }
}

TEST_F(HttpTest, RefusesSmuggling) {
  start();
  const std::string body = chat();
  const std::string start_line =
      "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
      "Content-Type: application/json\r\nAuthorization: Bearer " +
      std::string(kKey) + "\r\n";
  const std::string length = "Content-Length: " + std::to_string(body.size()) + "\r\n";
  for (const std::string& fields :
       {length + "Content-Length: 5\r\n", length + "Transfer-Encoding: chunked\r\n",
        length + "X: a\r\n folded\r\n", length + "X: a\nY: b\r\n",
        std::string("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n")}) {
    RawClient client(port());
    client.send(start_line);
    client.send(fields);
    client.send("\r\n" + body + get("/livez", ""));
    const auto response = client.response();
    ASSERT_TRUE(response.has_value()) << fields;
    EXPECT_EQ(response->status, 400) << fields;
    EXPECT_EQ(code(*response), "bad_request");
    EXPECT_TRUE(client.closed()) << "what follows may not be taken for a request";
    EXPECT_TRUE(client.in().empty());
  }
  RawClient coding(port());
  coding.send(start_line + "Transfer-Encoding: gzip\r\n\r\n");
  EXPECT_EQ(coding.response()->status, 501);
  RawClient version(port());
  version.send("GET / HTTP/3.0\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(version.response()->status, 505);
}

TEST_F(HttpTest, ABrokenLineIsRefusedAtOnce) {
  options_.http.limits.header_timeout = std::chrono::minutes(10);
  options_.http.limits.body_timeout = std::chrono::minutes(10);
  start();
  const std::string chunked =
      "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Authorization: Bearer " +
      std::string(kKey) + "\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string& text :
       {std::string("GET /livez HTTP/1.1\nHost: localhost\n\n"),
        std::string("GET /livez HTTP/1.1\r\nHost: localhost\n"), std::string("\n"),
        std::string("GET /livez HTTP/1.1\rHost: localhost\r\r"),
        std::string("\x16\x03\x01\x02\x00", 5), chunked + "5\nhello\n0\n\n",
        chunked + "5;a=b\nhello", chunked + "5\r\nhello\n", chunked + "0\r\nA: b\n\n",
        chunked + "5\rhello"}) {
    EXPECT_EQ(ask(text).status, 400) << text;
    RawClient bytewise(port());
    for (const char byte : text) bytewise.send({&byte, 1});
    const auto response = bytewise.response();
    ASSERT_TRUE(response.has_value()) << text;
    EXPECT_EQ(response->status, 400) << text;
  }
}

// Beast's parser takes it for granted that the last chunk comes with two bytes more at least.
TEST_F(HttpTest, TheLastChunkMayComeByteByByte) {
  start();
  const std::string head =
      "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Authorization: Bearer " +
      std::string(kKey) + "\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string_view end : {"0\r\n\r\n", "0\r\nA: b\r\n\r\n"}) {
    RawClient client(port());
    client.send(head);
    for (const char byte : end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));  // each in a read of its own
      client.send({&byte, 1});
    }
    const auto response = client.response();
    ASSERT_TRUE(response.has_value());
    EXPECT_EQ(response->status, 400) << "an empty body is no JSON";
    client.send(get("/livez", ""));
    EXPECT_EQ(client.response()->status, 200);
  }
}

TEST_F(HttpTest, TakesChunkedBodies) {
  start();
  const std::string body = chat();
  std::string chunks;
  for (size_t at = 0; at < body.size(); at += 7) {
    const std::string piece = body.substr(at, 7);
    chunks += std::to_string(piece.size()) + ";ext=1\r\n" + piece + "\r\n";
  }
  const std::string request =
      "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Authorization: Bearer " +
      std::string(kKey) + "\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks +
      "0\r\nAuthorization: x\r\n\r\n";
  RawClient client(port());
  for (const char byte : request) client.send({&byte, 1});
  EXPECT_EQ(client.response()->status, 200);
  client.send(get("/livez", ""));
  EXPECT_EQ(client.response()->status, 200);
  RawClient bad(port());
  bad.send(request.substr(0, request.find("\r\n\r\n") + 4) + "zz\r\nabc\r\n");
  EXPECT_EQ(bad.response()->status, 400);
}

TEST_F(HttpTest, LimitsHeadsBodiesAndConnections) {
  options_.http.limits.header_bytes = 2048;
  options_.http.limits.body_bytes = 4096;
  options_.http.limits.max_connections = 4;
  start();
  const std::string long_field = "X: " + std::string(3000, 'a') + "\r\n";
  EXPECT_EQ(ask(get("/livez", "", long_field)).status, 431);
  EXPECT_EQ(ask(std::string(5000, 'A')).status, 431) << "a head without an end";
  const RawResponse large = ask(post(std::string(4097, ' ')));
  EXPECT_EQ(large.status, 413);
  EXPECT_EQ(code(large), "request_too_large");
  std::string chunked =
      "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
      "Content-Type: application/json\r\nAuthorization: Bearer " +
      std::string(kKey) + "\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 5; ++i) chunked += "400\r\n" + std::string(1024, ' ') + "\r\n";
  EXPECT_EQ(ask(chunked).status, 413);

  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<RawClient>(port()));
    clients.back()->send(get("/livez", ""));
    ASSERT_EQ(clients.back()->response()->status, 200);
  }
  EXPECT_EQ(ask(get("/livez", "")).status, 503);
  clients.clear();
  EXPECT_TRUE(engine_.wait([&] { return ask(get("/livez", "")).status == 200; }));
}

TEST_F(HttpTest, AnswersWithoutAHandlerHaveAnIdOfTheirOwn) {
  options_.http.limits.header_bytes = 2048;
  options_.http.limits.header_timeout = milliseconds(150);
  options_.http.limits.max_connections = 8;
  start();
  std::string many = "GET / HTTP/1.1\r\nHost: localhost\r\n";
  for (int i = 0; i < 100; ++i) many += "X: y\r\n";
  std::set<std::string> ids;
  const auto status_of = [&](const std::string& request) {
    const RawResponse response = ask(request);
    EXPECT_TRUE(ids.insert(response.field("X-Request-Id")).second) << "one id for two requests";
    return response.status;
  };
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\nb: c\r\n\r\n"), 400);
  EXPECT_EQ(status_of(std::string(5000, 'A')), 431);
  EXPECT_EQ(status_of(many + "\r\n"), 431);
  EXPECT_EQ(status_of("GET / HTTP/3.0\r\nHost: localhost\r\n\r\n"), 505);
  EXPECT_EQ(status_of("GET / HT"), 408);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<RawClient>(port()));
    clients.back()->send(get("/livez", ""));
    ASSERT_TRUE(clients.back()->response().has_value());
  }
  EXPECT_EQ(status_of(get("/livez", "")), 503);
}

TEST_F(HttpTest, AFewEmptyLinesMayComeBeforeARequest) {
  start();
  RawClient client(port());
  client.send("\r\n" + get("/livez", "") + "\r\n\r");
  EXPECT_EQ(client.response()->status, 200);
  client.send("\n" + get("/livez", ""));
  EXPECT_EQ(client.response()->status, 200);
  std::string lines;
  for (int i = 0; i < 30'000; ++i) lines += "\r\n";
  EXPECT_EQ(ask(lines).status, 400);
  RawClient slow(port());
  for (int i = 0; i < 100 && slow.in().empty(); ++i) {
    slow.send("\r\n");
    slow.read_some(milliseconds(5));
  }
  ASSERT_FALSE(slow.in().empty()) << "lines that come one by one count as well";
  EXPECT_EQ(slow.response()->status, 400);
}

TEST_F(HttpTest, BodiesAreReadOnlyWhenTheHeadIsInOrder) {
  options_.http.limits.body_bytes_total = 8192;
  start();
  const std::string big(3 << 20, ' ');
  const std::string expect = "Expect: 100-continue\r\n";
  RawClient client(port());
  const std::string body = chat();
  const std::string request = post(body, kKey, expect);
  client.send(request.substr(0, request.size() - body.size()));
  EXPECT_EQ(client.response()->status, 100);
  client.send(body);
  EXPECT_EQ(client.response()->status, 200);

  RawClient stranger(port());
  const std::string refused = post(body, "o3-wrong", expect);
  stranger.send(refused.substr(0, refused.size() - body.size()));
  EXPECT_EQ(stranger.response()->status, 401) << "before the body";
  EXPECT_TRUE(stranger.closed());

  EXPECT_EQ(ask(post(body, kKey, "Expect: magic\r\n")).status, 417);
  RawClient heavy(port());
  const std::string head = post(big);
  heavy.send(head.substr(0, head.size() - big.size()));
  EXPECT_EQ(heavy.response()->status, 503) << "more than all bodies together may have";
  EXPECT_EQ(ask(post(body)).status, 200) << "the budget was given back";
  EXPECT_EQ(ask(get("/livez", "", "Content-Length: 3\r\n") + "abc").status, 400);
}

TEST_F(HttpTest, SlowClientsAreCutOff) {
  options_.http.limits.header_timeout = milliseconds(150);
  options_.http.limits.body_timeout = milliseconds(150);
  options_.http.limits.idle_timeout = milliseconds(300);
  start();
  const auto begun = std::chrono::steady_clock::now();
  RawClient silent(port());
  EXPECT_TRUE(silent.closed());
  RawClient drip(port());
  std::optional<RawResponse> answer;
  for (int i = 0; i < 100 && drip.send("GET"); ++i) {
    if (drip.read_some(milliseconds(20))) break;
  }
  answer = drip.response();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, 408);
  RawClient half(port());
  const std::string request = post(chat());
  half.send(request.substr(0, request.size() - 5));
  EXPECT_EQ(half.response()->status, 408);
  RawClient idle(port());
  idle.send(get("/livez", ""));
  EXPECT_EQ(idle.response()->status, 200);
  EXPECT_TRUE(idle.closed());
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
}

TEST_F(HttpTest, GarbageNeverTakesTheServerDown) {
  start();
  unsigned seed = 1;
  for (int i = 0; i < 200; ++i) {
    std::string bytes = i % 2 == 0 ? post(chat()) : get("/v1/models");
    for (int k = 0; k < 8; ++k) {
      seed = seed * 1664525 + 1013904223;
      bytes[seed % bytes.size()] = static_cast<char>(seed >> 24);
    }
    RawClient client(port());
    client.send(bytes.substr(0, bytes.size() - (i % 7)));
  }
  EXPECT_EQ(ask(get("/livez", "")).status, 200);
  EXPECT_EQ(ask(post(chat())).status, 200);
}

TEST_F(HttpTest, MetricsAreWellFormedAndCountRefusals) {
  start();
  ask(get("/none"));
  ask(get("/v1/models", "o3-wrong"));
  ask(post("{"));
  const RawResponse scraped = ask(get("/metrics"));
  EXPECT_EQ(scraped.field("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_NE(scraped.body.find("# TYPE o3_requests_total counter"), std::string::npos);
  EXPECT_EQ(metric("o3_requests_refused_total{status=\"404\"}"), 1);
  EXPECT_EQ(metric("o3_requests_refused_total{status=\"401\"}"), 1);
  EXPECT_EQ(metric("o3_requests_refused_total{status=\"400\"}"), 1);
  EXPECT_EQ(metric("o3_requests_total{outcome=\"stop\"}"), 0);
}

TEST(ServerOptionsTest, ComeFromTheSettings) {
  const auto settings = config::Snapshot::load(
      config::serve::kRows, std::nullopt,
      {{"port", "1234", "-"}, {"http.body_bytes", "1MiB", "-"}, {"no_auth", "true", "-"}});
  ASSERT_TRUE(settings.ok());
  const ServerOptions options = ServerOptions::from(*settings);
  EXPECT_EQ(options.http.port, 1234);
  EXPECT_EQ(options.http.limits.body_bytes, 1U << 20);
  EXPECT_EQ(options.http.limits.header_timeout, std::chrono::seconds(10));
  EXPECT_TRUE(options.no_auth);
}

}  // namespace
}  // namespace o3::api
