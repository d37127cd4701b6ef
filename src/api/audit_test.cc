// SPDX-License-Identifier: Apache-2.0
// Every audit record that is opened is closed exactly once, however its request ends.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>

#include "api/testing/counting_audit.h"
#include "api/testing/server_fixture.h"

namespace o3::api {
namespace {

using std::chrono::milliseconds;
using testing::RawClient;
using testing::Script;
using testing::tokens_of;
using Outcomes = std::map<Outcome, int>;

// Calls back while a request stands between its prompt and its submission.
class HookedQuota final : public govern::Quota {
 public:
  using Hook = std::function<Result<void>()>;
  explicit HookedQuota(Hook hook) : hook_(std::move(hook)) {}
  Result<std::unique_ptr<govern::QuotaLease>> reserve(const govern::Principal& /*who*/,
                                                      govern::Action /*what*/) override {
    return std::unique_ptr<govern::QuotaLease>(std::make_unique<Lease>(hook_));
  }

 private:
  class Lease final : public govern::QuotaLease {
   public:
    explicit Lease(const Hook& hook) : hook_(hook) {}
    Result<void> reserve_tokens(int64_t /*prompt*/, int64_t /*most*/) override { return hook_(); }
    void settle(int64_t /*prompt*/, int64_t /*completion*/) noexcept override {}

   private:
    const Hook& hook_;
  };
  Hook hook_;
};

class AuditTest : public testing::ServerFixture {
 protected:
  void SetUp() override {
    ServerFixture::SetUp();
    audit_ = &log_;
    engine_.play([](const engine::Generate&) { return Script{.steps = {tokens_of("ok")}}; });
  }
  void TearDown() override { server_.reset(); }

  void play_endless() {
    engine_.play([](const engine::Generate&) {
      return Script{.steps = {tokens_of("x")}, .endless = true, .pause = milliseconds(2)};
    });
  }
  // A stream that has begun and does not end by itself.
  std::unique_ptr<RawClient> begin_endless() {
    auto client = std::make_unique<RawClient>(port());
    client->send(post(chat(R"(,"stream":true)")));
    EXPECT_TRUE(client->read_until("data: "));
    return client;
  }
  Outcomes outcomes(size_t records) {
    EXPECT_TRUE(engine_.wait([&] { return log_.closed() >= records; }));
    return log_.take();
  }

  testing::CountingAudit log_;
};

TEST_F(AuditTest, SuccessIsClosedAsSuch) {
  start();
  EXPECT_EQ(ask(get("/v1/models")).status, 200);
  EXPECT_EQ(ask(get("/v1/models/octo")).status, 200);
  EXPECT_EQ(ask(get("/metrics")).status, 200);
  EXPECT_EQ(ask(post(chat())).status, 200);
  EXPECT_EQ(ask(post(chat(R"(,"stream":true)"))).status, 200);
  EXPECT_EQ(log_.take(), (Outcomes{{Outcome::kStop, 5}})) << "closed before the answer ends";
}

TEST_F(AuditTest, PublicRowsAndRefusedCallersHaveNone) {
  start();
  ask(get("/livez", ""));
  ask(get("/", ""));
  ask(get("/metrics", "o3-wrong"));
  ask(post(chat(), kOtherKey));
  EXPECT_EQ(log_.opened(), 0U);
}

TEST_F(AuditTest, ARefusalAtAnyStageIsClosed) {
  const std::string json_on_other =
      R"({"model":"other","messages":[{"role":"user","content":"hi"}],)"
      R"("response_format":{"type":"json_object"}})";
  start();
  EXPECT_EQ(ask(post(json_on_other)).status, 400);
  EXPECT_EQ(outcomes(1), (Outcomes{{Outcome::kError, 1}}));
  EXPECT_EQ(ask(post(chat(R"(,"max_tokens":5000)"))).status, 400);
  EXPECT_EQ(outcomes(1), (Outcomes{{Outcome::kError, 1}})) << "a prompt that does not fit";
  engine_.play([](const engine::Generate&) {
    return Script{.refusal = Error{Code::kExhausted, "full", {}}};
  });
  EXPECT_EQ(ask(post(chat())).status, 503);
  EXPECT_EQ(outcomes(1), (Outcomes{{Outcome::kError, 1}})) << "the engine refused";
  engine_.play([](const engine::Generate&) {
    return Script{.outcome = Outcome::kError, .error = Error{Code::kInternal, "broken", {}}};
  });
  EXPECT_EQ(ask(post(chat())).status, 500);
  EXPECT_EQ(outcomes(1), (Outcomes{{Outcome::kError, 1}})) << "the engine failed";
}

TEST_F(AuditTest, ARequestOverItsQuotaIsClosed) {
  HookedQuota quota([] { return Result<void>(Error{Code::kExhausted, "over the limit", {}}); });
  quota_ = &quota;
  start();
  ask(post(chat()));
  EXPECT_EQ(outcomes(1), (Outcomes{{Outcome::kError, 1}}));
  server_.reset();
}

TEST_F(AuditTest, AClientThatLeavesBeforeTheEngineHasItsRequest) {
  std::atomic<bool> reached{false};
  std::atomic<bool> gone{false};
  HookedQuota quota([&] {
    reached = true;
    engine_.wait([&] { return gone.load(); });
    return Result<void>();
  });
  quota_ = &quota;
  options_.http.io_threads = 1;
  start();
  {
    RawClient client(port());
    client.send(post(chat()));
    ASSERT_TRUE(engine_.wait([&] { return reached.load(); }));
  }
  for (int i = 0; i < 3; ++i) ask(get("/livez", ""));  // by then the io thread has seen it leave
  gone = true;
  EXPECT_EQ(outcomes(1), (Outcomes{{Outcome::kCancelled, 1}}));
  EXPECT_TRUE(engine_.requests().empty());
  server_.reset();
}

TEST_F(AuditTest, AClientThatLeavesInTheMiddle) {
  play_endless();
  start();
  begin_endless().reset();
  EXPECT_EQ(outcomes(1), (Outcomes{{Outcome::kCancelled, 1}}));
  EXPECT_TRUE(engine_.wait([&] { return engine_.running() == 0; }));
}

TEST_F(AuditTest, DrainAtItsTimeout) {
  play_endless();
  start();
  const auto client = begin_endless();
  server_->drain(milliseconds(20));
  EXPECT_EQ(outcomes(1), (Outcomes{{Outcome::kCancelled, 1}}));
}

TEST_F(AuditTest, ADestroyedServerWaitsForItsRecords) {
  play_endless();
  log_.take_time(milliseconds(100));
  start();
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(begin_endless());
  RawClient whole(port());
  whole.send(post(chat()));
  RawClient list(port());
  list.send(get("/v1/models"));
  ASSERT_TRUE(engine_.wait([&] { return log_.opened() == 5; }));
  server_.reset();
  const Outcomes ended = log_.take();
  int all = 0;
  for (const auto& [outcome, count] : ended) all += count;
  EXPECT_EQ(all, 5);
}

TEST_F(AuditTest, WithoutACloseRecordThereIsNoSuccess) {
  log_.fail();
  start();
  EXPECT_EQ(ask(get("/v1/models")).status, 503);
  EXPECT_EQ(ask(get("/metrics")).status, 503);
  EXPECT_EQ(ask(post(chat())).status, 503);
  EXPECT_EQ(log_.take(), (Outcomes{{Outcome::kStop, 3}}));
}

}  // namespace
}  // namespace o3::api
