// SPDX-License-Identifier: Apache-2.0
// Clients that take more than their share: send without reading, read nothing, use up descriptors.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <thread>

#include "api/testing/server_fixture.h"

namespace o3::api {
namespace {

using std::chrono::milliseconds;
using testing::RawClient;
using testing::Script;
using testing::tokens_of;

class GreedyClientTest : public testing::ServerFixture {
 protected:
  void answer_for_ever(std::vector<Token> step) {
    engine_.play([step = std::move(step)](const engine::Generate&) {
      return Script{.steps = {step}, .endless = true, .pause = milliseconds(1)};
    });
  }
  double cancelled() { return metric("o3_requests_total{outcome=\"cancelled\"}"); }
};

std::string pipelined(size_t requests) {
  std::string burst;
  for (size_t i = 0; i < requests; ++i) burst += "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
  return burst;
}

TEST_F(GreedyClientTest, MuchSentBehindARunningRequestDoesNotHideThatTheClientLeft) {
  start();
  answer_for_ever(tokens_of("x"));
  int expected = 0;
  for (const bool reset : {false, true}) {
    for (const char* stream : {"false", "true"}) {
      RawClient client(port(), 4096);
      client.send(post(chat(std::string(R"(,"stream":)") + stream)));
      ASSERT_TRUE(engine_.wait([&] { return engine_.running() == 1; }));
      client.send(pipelined(4000));
      const linger at_once{1, 0};
      if (reset) ::setsockopt(client.fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
      client.close();
      ++expected;
      EXPECT_TRUE(engine_.wait([&] { return engine_.running() == 0; }));
      EXPECT_TRUE(engine_.wait([&] { return cancelled() == expected; }));
    }
  }
}

TEST_F(GreedyClientTest, AClientThatSendsAndSendsBehindARunningRequestIsCutOff) {
  start();
  answer_for_ever(tokens_of("x"));
  RawClient client(port());
  client.send(post(chat()));
  ASSERT_TRUE(engine_.wait([&] { return engine_.running() == 1; }));
  client.send(pipelined(1000));  // within the bound: it may wait
  EXPECT_FALSE(engine_.wait([&] { return engine_.running() == 0; }, milliseconds(1500)));
  client.send(pipelined(2000));
  EXPECT_TRUE(engine_.wait([&] { return engine_.running() == 0; }));
  EXPECT_TRUE(client.closed());
}

TEST_F(GreedyClientTest, MuchSentBehindQuickRequestsIsAnsweredInTurn) {
  start();
  RawClient client(port());
  std::thread sender([&] { client.send(pipelined(5000)); });
  for (int i = 0; i < 5000; ++i) {
    const auto response = client.response();
    if (!response || response->status != 200) ADD_FAILURE() << i;
    if (!response) break;
  }
  sender.join();
}

TEST_F(GreedyClientTest, ARefusalReachesAClientThatSendsItsWholeBodyFirst) {
  start();
  const auto status = [&](const std::string& request) {
    RawClient client(port());
    EXPECT_TRUE(client.send(request)) << "closed while it was sending";
    std::this_thread::sleep_for(milliseconds(20));  // a reset may take what was not read yet
    const auto response = client.response();
    return response ? response->status : 0;
  };
  const std::string full(4 << 20, ' ');
  const std::string larger(5 << 20, ' ');
  const std::string doubled(8 << 20, ' ');
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(status(post(full, "o3-wrong")), 401);
    EXPECT_EQ(status(post(larger)), 413);
    EXPECT_EQ(status(post(doubled)), 413);
    std::string elsewhere = post(full);
    elsewhere.replace(elsewhere.find("/chat/"), 6, "/none/");
    EXPECT_EQ(status(elsewhere), 404);
  }
  RawClient endless(port());
  endless.send(post(std::string(200 << 20, ' '), "o3-wrong").substr(0, 400));
  size_t sent = 0;
  while (sent < (200U << 20) && endless.send(larger)) sent += larger.size();
  EXPECT_LT(sent, 100U << 20) << "swallowed without end";
}

TEST_F(GreedyClientTest, AReaderThatNeverReadsIsCutOffNearTheBound) {
  options_.http.limits.stream_buffer_bytes = 64 << 10;
  start();
  answer_for_ever({testing::kLong});
  RawClient client(port(), 4096);
  client.send(post(chat(R"(,"stream":true)")));
  EXPECT_TRUE(engine_.wait([&] { return cancelled() == 1; }));
  EXPECT_TRUE(client.closed());
  EXPECT_LT(client.in().size(), 512U << 10) << "what the kernel took for it";
}

TEST_F(GreedyClientTest, ABurstOfClientsDoesNotPassTheLimit) {
  options_.http.limits.max_connections = 10;
  start();
  std::vector<std::unique_ptr<RawClient>> clients;
  clients.reserve(200);
  for (int i = 0; i < 200; ++i) clients.push_back(std::make_unique<RawClient>(port()));
  int answered = 0;
  for (const auto& client : clients) {
    client->send(get("/livez", ""));
    const auto response = client->response();
    answered += response && response->status == 200 ? 1 : 0;
  }
  EXPECT_EQ(answered, 10);
}

#if defined(__has_feature)
constexpr bool kNeedsDescriptors = __has_feature(undefined_behavior_sanitizer);
#else
constexpr bool kNeedsDescriptors = false;
#endif

// Uses up the descriptors of this process.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit low{256, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &low);
    for (int one = 0; (one = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) all_.push_back(one);
  }
  ~NoDescriptors() {
    for (const int one : all_) ::close(one);
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
  std::vector<int> all_;
};

TEST_F(GreedyClientTest, WithoutDescriptorsNewClientsAreToldSo) {
  if (kNeedsDescriptors) GTEST_SKIP() << "this sanitizer needs descriptors to look at a type";
  start();
  std::vector<std::unique_ptr<RawClient>> clients;
  clients.reserve(20);
  for (int i = 0; i < 20; ++i) clients.push_back(std::make_unique<RawClient>());
  {
    const NoDescriptors none;
    for (const auto& client : clients) {
      ASSERT_TRUE(client->connect(port()));
      const auto response = client->response();
      ASSERT_TRUE(response.has_value());
      EXPECT_EQ(response->status, 503);
      EXPECT_TRUE(has_id(*response));
      EXPECT_TRUE(client->closed());
    }
  }
  EXPECT_TRUE(engine_.wait([&] { return ask(get("/livez", "")).status == 200; }));
}

}  // namespace
}  // namespace o3::api
