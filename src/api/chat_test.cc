// SPDX-License-Identifier: Apache-2.0
// POST /v1/chat/completions over real sockets, with an engine that plays scripts.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "api/testing/server_fixture.h"

namespace o3::api {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::RawClient;
using testing::RawResponse;
using testing::Script;
using testing::tokens_of;

std::vector<std::vector<Token>> one_by_one(std::string_view text) {
  std::vector<std::vector<Token>> steps;
  for (const Token token : tokens_of(text)) steps.push_back({token});
  return steps;
}

// What a client makes of a stream; also checks the rules every stream keeps.
struct Stream {
  std::string text;
  std::string reason;
  json usage;
  json error;
  size_t chunks = 0;
  bool done = false;
};

Stream read_stream(const std::string& body) {
  Stream stream;
  std::string id;
  size_t at = 0;
  while (at < body.size()) {
    const size_t end = body.find("\n\n", at);
    EXPECT_NE(end, std::string::npos) << "an event without an end";
    if (end == std::string::npos) break;
    const std::string event = body.substr(at, end - at);
    at = end + 2;
    if (event.starts_with(":")) continue;
    EXPECT_TRUE(event.starts_with("data: ")) << event;
    EXPECT_EQ(event.find('\n'), std::string::npos);
    EXPECT_FALSE(stream.done) << "something follows [DONE]";
    const std::string data = event.substr(6);
    if (data == "[DONE]") {
      stream.done = true;
      continue;
    }
    const json chunk = json::parse(data);
    if (chunk.contains("error")) {
      stream.error = chunk["error"];
      continue;
    }
    EXPECT_EQ(chunk["object"], "chat.completion.chunk");
    if (stream.chunks == 0) id = chunk["id"];
    EXPECT_EQ(chunk["id"], id);
    if (chunk["choices"].empty()) {
      EXPECT_FALSE(stream.reason.empty()) << "usage comes last";
      stream.usage = chunk["usage"];
      continue;
    }
    const json& choice = chunk["choices"][0];
    EXPECT_EQ(choice["index"], 0);
    EXPECT_EQ(choice["delta"].contains("role"), stream.chunks == 0);
    EXPECT_TRUE(stream.reason.empty()) << "a chunk follows finish_reason";
    stream.text += choice["delta"].value("content", "");
    if (!choice["finish_reason"].is_null()) {
      stream.reason = choice["finish_reason"];
      EXPECT_FALSE(choice["delta"].contains("content"));
    }
    ++stream.chunks;
  }
  return stream;
}

class ChatTest : public testing::ServerFixture {
 protected:
  void answer_with(std::string_view text, Outcome outcome = Outcome::kStop) {
    engine_.play([steps = one_by_one(text), outcome](const engine::Generate&) {
      return Script{.steps = steps, .outcome = outcome};
    });
  }
  void answer_for_ever(const std::vector<Token>& tokens, std::chrono::microseconds pause) {
    engine_.play([tokens, pause](const engine::Generate&) {
      return Script{.steps = {tokens}, .endless = true, .pause = pause};
    });
  }
  double ended(std::string_view outcome) {
    return metric("o3_requests_total{outcome=\"" + std::string(outcome) + "\"}");
  }
  json whole(std::string_view more = "", int status = 200) {
    const RawResponse response = ask(post(chat(more)));
    EXPECT_EQ(response.status, status) << response.body;
    return json::parse(response.body);
  }
  Stream stream(std::string_view more = "") {
    const RawResponse response = ask(post(chat(R"(,"stream":true)" + std::string(more))));
    EXPECT_EQ(response.status, 200) << response.body;
    return read_stream(response.body);
  }
};

TEST_F(ChatTest, AWholeAnswerHasTextReasonAndUsage) {
  start();
  answer_with("Gr\xc3\xbc\xc3\x9f \"dich\"\n");
  const json answer = whole(R"(,"seed":5,"temperature":0.5,"top_k":3,"max_tokens":99)");
  EXPECT_EQ(answer["object"], "chat.completion");
  EXPECT_TRUE(answer["id"].get<std::string>().starts_with("chatcmpl-"));
  EXPECT_EQ(answer["model"], "octo");
  EXPECT_EQ(answer["choices"].size(), 1U);
  EXPECT_EQ(answer["choices"][0]["message"]["role"], "assistant");
  EXPECT_EQ(answer["choices"][0]["message"]["content"], "Gr\xc3\xbc\xc3\x9f \"dich\"\n");
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 18);  // "user:hi\nassistant:"
  EXPECT_EQ(answer["usage"]["completion_tokens"], 14);
  EXPECT_EQ(answer["usage"]["total_tokens"], 32);
  EXPECT_EQ(answer["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
  EXPECT_FALSE(answer.contains("system_fingerprint"));

  const auto request = engine_.requests().at(0);
  const auto& work = std::get<engine::Generate>(request->work);
  EXPECT_EQ(work.prompt, tokens_of("user:hi\nassistant:"));
  EXPECT_EQ(work.sampling.seed, 5U);
  EXPECT_EQ(work.sampling.temperature, 0.5F);
  EXPECT_EQ(work.sampling.top_k, 3);
  EXPECT_EQ(work.max_new_tokens, 99);
  EXPECT_EQ(work.stop_tokens, std::vector<Token>{testing::kEos});
  EXPECT_FALSE(work.constraint);
  EXPECT_EQ(request->domain.tenant, "t");
  EXPECT_EQ(request->domain.model_revision, 7U);
  EXPECT_EQ(request->request_class, RequestClass::kHigh);
  EXPECT_EQ(ended("stop"), 1);
  EXPECT_EQ(metric("o3_time_to_first_token_seconds_count"), 1);
  EXPECT_EQ(metric("o3_inter_token_seconds_count"), 13);
  EXPECT_EQ(metric("o3_request_seconds_count"), 1);
}

TEST_F(ChatTest, AStreamSaysTheSameAsTheWholeAnswer) {
  start();
  for (const std::string text :
       {"caf\xc3\xa9 \xf0\x9f\x90\x99!", "", "tail \xf0\x9f", "one STOP two", "one STO", "STOP"}) {
    for (const Outcome outcome : {Outcome::kStop, Outcome::kLength}) {
      answer_with(text, outcome);
      const std::string stop = R"(,"stop":["STOP","###"])";
      const json answer = whole(stop);
      const Stream streamed = stream(stop + R"(,"stream_options":{"include_usage":true})");
      EXPECT_EQ(json(streamed.text), answer["choices"][0]["message"]["content"]);
      EXPECT_EQ(json(streamed.reason), answer["choices"][0]["finish_reason"]);
      EXPECT_EQ(streamed.usage, answer["usage"]);
      EXPECT_TRUE(streamed.done);
      EXPECT_TRUE(streamed.error.is_null());
    }
  }
}

TEST_F(ChatTest, StreamFramingIsWhatClientsExpect) {
  start();
  answer_with("abc");
  const RawResponse response = ask(post(chat(R"(,"stream":true)")));
  EXPECT_EQ(response.field("Content-Type"), "text/event-stream; charset=utf-8");
  EXPECT_EQ(response.field("Cache-Control"), "no-cache");
  EXPECT_EQ(response.field("X-Accel-Buffering"), "no");
  EXPECT_EQ(response.body.find("\nid:"), std::string::npos);
  EXPECT_EQ(response.body.find("retry:"), std::string::npos);
  EXPECT_EQ(response.body.find("usage"), std::string::npos) << "usage only if asked for";
  EXPECT_TRUE(response.body.ends_with("data: [DONE]\n\n"));
  // The first event names the role, before any text.
  const json first = json::parse(response.body.substr(6, response.body.find("\n\n") - 6));
  EXPECT_EQ(first["choices"][0]["delta"]["role"], "assistant");
  EXPECT_EQ(first["choices"][0]["delta"]["content"], "");
}

TEST_F(ChatTest, TheFirstTextComesBeforeTheLastToken) {
  start();
  answer_for_ever(tokens_of("x"), milliseconds(5));
  RawClient client(port());
  client.send(post(chat(R"(,"stream":true)")));
  EXPECT_TRUE(client.read_until("\"content\":\"x\""));
  EXPECT_EQ(engine_.running(), 1U);
}

TEST_F(ChatTest, AStopStringAcrossTokensEndsTheChoiceAndCancelsTheRest) {
  start();
  engine_.play([](const engine::Generate&) {
    return Script{.steps = {tokens_of("one\nUs"), tokens_of("er"), tokens_of(": two")},
                  .endless = true,
                  .pause = milliseconds(1)};
  });
  const Stream streamed = stream(R"(,"stop":"\nUser:","stream_options":{"include_usage":true})");
  EXPECT_EQ(streamed.text, "one");
  EXPECT_EQ(streamed.reason, "stop");
  EXPECT_EQ(streamed.usage["completion_tokens"], 9);
  EXPECT_TRUE(engine_.wait([&] { return engine_.running() == 0; })) << "the engine goes on";
  EXPECT_EQ(ended("stop"), 1);
  EXPECT_EQ(ended("cancelled"), 0);
}

TEST_F(ChatTest, LengthIsNamed) {
  start();
  answer_with("abc", Outcome::kLength);
  EXPECT_EQ(whole()["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(stream().reason, "length");
  EXPECT_EQ(ended("length"), 2);
}

TEST_F(ChatTest, AClientThatLeavesCancelsWithinMilliseconds) {
  start();
  answer_for_ever(tokens_of("x"), milliseconds(2));
  for (const bool streamed : {true, false}) {
    const int before = engine_.cancels();
    RawClient client(port());
    client.send(post(chat(streamed ? R"(,"stream":true)" : "")));
    ASSERT_TRUE(engine_.wait([&] { return engine_.running() == 1; }));
    if (streamed) {
      EXPECT_TRUE(client.read_until("\"content\":\"x\""));
    }
    const auto left = std::chrono::steady_clock::now();
    client.close();
    EXPECT_TRUE(engine_.wait([&] { return engine_.cancels() > before; }));
    EXPECT_LT(std::chrono::steady_clock::now() - left, milliseconds(500));
    EXPECT_TRUE(engine_.wait([&] { return engine_.running() == 0; }));
  }
  EXPECT_TRUE(engine_.wait([&] { return ended("cancelled") == 2; }));
  EXPECT_EQ(metric("o3_request_seconds_count"), 2);
}

TEST_F(ChatTest, AReaderThatIsTooSlowIsCutOff) {
  options_.http.limits.stream_buffer_bytes = 64 << 10;
  start();
  answer_for_ever({testing::kLong}, milliseconds(20));  // time to read the first event
  RawClient client(port(), 4096);
  client.send(post(chat(R"(,"stream":true)")));
  EXPECT_TRUE(client.read_until("\"role\""));
  EXPECT_TRUE(engine_.wait([&] { return ended("cancelled") == 1; }));
  EXPECT_TRUE(engine_.wait([&] { return engine_.running() == 0; }));
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(client.in().find("[DONE]"), std::string::npos);
}

TEST_F(ChatTest, AReaderThatStopsIsCutOffInTime) {
  options_.http.limits.write_timeout = milliseconds(200);
  options_.http.limits.stream_buffer_bytes = 64 << 20;
  start();
  answer_for_ever({testing::kLong}, milliseconds(1));
  RawClient client(port(), 4096);
  client.send(post(chat(R"(,"stream":true)")));
  EXPECT_TRUE(engine_.wait([&] { return ended("cancelled") == 1; }, std::chrono::seconds(20)));
}

TEST_F(ChatTest, SilenceIsFilledWithComments) {
  options_.ping_interval = milliseconds(100);
  start();
  engine_.play([](const engine::Generate&) {
    return Script{.steps = {{}, tokens_of("late")}, .pause = milliseconds(400)};
  });
  const RawResponse response = ask(post(chat(R"(,"stream":true)")));
  EXPECT_TRUE(response.body.starts_with(": ping\n\n")) << response.body;
  EXPECT_EQ(read_stream(response.body).text, "late");
}

TEST_F(ChatTest, FailuresBeforeTheFirstByteHaveAStatusAndLaterOnesAnErrorEvent) {
  start();
  engine_.play([](const engine::Generate&) {
    return Script{.outcome = Outcome::kError, .error = Error{Code::kInternal, "bug 42", {}}};
  });
  RawResponse response = ask(post(chat(R"(,"stream":true)")));
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(response.field("x-should-retry"), "false");
  EXPECT_EQ(response.body.find("bug 42"), std::string::npos);
  engine_.play([](const engine::Generate&) {
    return Script{.steps = {tokens_of("begun")},
                  .outcome = Outcome::kDeadline,
                  .error = Error{Code::kDeadline, "took too long", {}}};
  });
  const Stream late = stream();
  EXPECT_EQ(late.text, "begun");
  EXPECT_TRUE(late.reason.empty());
  EXPECT_EQ(late.error["message"], "took too long");
  EXPECT_EQ(late.error["code"], "deadline_exceeded");
  EXPECT_TRUE(late.done);
  EXPECT_EQ(ask(post(chat())).status, 504);
  EXPECT_EQ(ended("error"), 1);
  EXPECT_EQ(ended("deadline"), 2);
}

TEST_F(ChatTest, AFullEngineIs503AndNotAnOutcome) {
  start();
  engine_.play([](const engine::Generate&) {
    return Script{.refusal = Error{Code::kExhausted, "The queue is full.", {}}};
  });
  for (const char* more : {"", R"(,"stream":true)"}) {
    const RawResponse response = ask(post(chat(more)));
    EXPECT_EQ(response.status, 503);
    EXPECT_EQ(response.field("Retry-After"), "1");
    EXPECT_EQ(json::parse(response.body)["error"]["type"], "server_error");
  }
  EXPECT_EQ(metric("o3_requests_refused_total{status=\"503\"}"), 2);
  for (const char* outcome : {"stop", "length", "cancelled", "deadline", "error"}) {
    EXPECT_EQ(ended(outcome), 0);
  }
}

TEST_F(ChatTest, ErrorsAreOpenAisObjects) {
  start();
  struct Row {
    std::string body;
    int status;
    const char* code;  // nullptr: null
    const char* param;
  };
  const std::string huge(2000, 'x');
  const auto user = [](const std::string& text, const std::string& more = "") {
    return R"({"model":"octo","messages":[{"role":"user","content":")" + text + "\"}]" + more + "}";
  };
  for (const Row& row : {
           Row{"{", 400, nullptr, nullptr},
           Row{"[]", 400, nullptr, nullptr},
           Row{std::string(100'000, '['), 400, nullptr, nullptr},
           Row{"\xff", 400, nullptr, nullptr},
           Row{R"({"model":"none","messages":[{"role":"user","content":"x"}]})", 404,
               "model_not_found", "model"},
           Row{chat(R"(,"temperature":9)"), 400, nullptr, "temperature"},
           Row{chat(R"(,"n":65)"), 400, nullptr, "n"},
           Row{chat(R"(,"tools":[])"), 400, "unsupported_parameter", "tools"},
           Row{user(huge), 400, "context_length_exceeded", "messages"},
           Row{user("x", R"(,"max_tokens":1024)"), 400, "context_length_exceeded", "max_tokens"},
       }) {
    const RawResponse response = ask(post(row.body));
    EXPECT_EQ(response.status, row.status) << row.body.substr(0, 80);
    EXPECT_EQ(response.field("Content-Type"), "application/json");
    const json error = json::parse(response.body)["error"];
    EXPECT_EQ(error["type"], "invalid_request_error");
    EXPECT_EQ(error["code"], row.code == nullptr ? json() : json(row.code)) << response.body;
    EXPECT_EQ(error["param"], row.param == nullptr ? json() : json(row.param)) << response.body;
  }
  const std::string message = json::parse(ask(post(user(huge))).body)["error"]["message"];
  EXPECT_NE(message.find("2016"), std::string::npos) << message;
  EXPECT_NE(message.find("1024"), std::string::npos) << message;
}

TEST_F(ChatTest, UnknownFieldsAreCountedAndNamed) {
  start();
  answer_with("ok");
  const RawResponse response = ask(post(chat(R"(,"zeta":1,"eta":{"x":[1]})")));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.field("X-O3-Warning"), "unknown fields were ignored: eta, zeta");
  EXPECT_EQ(metric("o3_unknown_fields_total"), 2);
  EXPECT_NE(ask(post(chat(R"(,"stream":true,"zeta":1)"))).field("X-O3-Warning"), "");
  EXPECT_EQ(ask(post(chat())).field("X-O3-Warning"), "");
}

TEST_F(ChatTest, StrictParamsAndFingerprintAreOptions) {
  options_.strict_params = true;
  options_.system_fingerprint = "fp_test";
  start();
  answer_with("ok");
  EXPECT_EQ(whole(R"(,"zeta":1)", 400)["error"]["param"], "zeta");
  EXPECT_EQ(whole()["system_fingerprint"], "fp_test");
}

TEST_F(ChatTest, JsonObjectBringsTheConstraint) {
  start();
  answer_with("{}");
  whole(R"(,"response_format":{"type":"json_object"})");
  EXPECT_TRUE(std::get<engine::Generate>(engine_.requests().at(0)->work).constraint);
}

TEST_F(ChatTest, WithoutASeedEveryRequestHasItsOwn) {
  start();
  answer_with("ok");
  whole();
  whole();
  const auto seed = [&](size_t i) {
    return std::get<engine::Generate>(engine_.requests().at(i)->work).sampling.seed;
  };
  EXPECT_NE(seed(0), seed(1));
}

TEST_F(ChatTest, TheUsageTellsWhatTheCacheKnew) {
  start();
  engine_.play([](const engine::Generate&) {
    return Script{.steps = {{'a'}, {'b'}}, .cached_tokens = 12};
  });
  EXPECT_EQ(whole(R"(,"n":3)")["usage"]["prompt_tokens_details"]["cached_tokens"], 12);
  // A stop string ends the answer before the engine's end is known.
  EXPECT_EQ(whole(R"(,"stop":"b")")["usage"]["prompt_tokens_details"]["cached_tokens"], 12);
}

TEST_F(ChatTest, TheCacheDomainIsTheTenantAndTheSalt) {
  start();
  answer_with("a");
  whole();
  EXPECT_EQ(engine_.requests().back()->domain.salt, "");
  EXPECT_TRUE(std::get<engine::Generate>(engine_.requests().back()->work).reuse_prefix);
  const std::string tenant = engine_.requests().back()->domain.tenant;
  EXPECT_NE(tenant, "");
  whole(R"(,"cache_salt":"pepper","cache_prompt":false)");
  EXPECT_EQ(engine_.requests().back()->domain.salt, "pepper");
  EXPECT_EQ(engine_.requests().back()->domain.tenant, tenant);
  EXPECT_FALSE(std::get<engine::Generate>(engine_.requests().back()->work).reuse_prefix);
  for (const char* wrong : {R"(,"cache_salt":"")", R"(,"cache_salt":7)", R"(,"cache_prompt":1)"}) {
    EXPECT_EQ(ask(post(chat(wrong))).status, 400) << wrong;
  }
  const std::string long_salt = R"(,"cache_salt":")" + std::string(257, 'x') + "\"";
  EXPECT_EQ(ask(post(chat(long_salt))).status, 400);
}

TEST_F(ChatTest, TenantsShareTheCacheOnlyByPolicy) {
  options_.tenants_share_cache = true;
  start();
  answer_with("a");
  whole();
  EXPECT_EQ(engine_.requests().back()->domain.tenant, "");
}

TEST_F(ChatTest, LargeAnswersArriveWhole) {
  start();
  const std::string text(300'000, 'y');
  engine_.play([&](const engine::Generate&) { return Script{.steps = {tokens_of(text)}}; });
  EXPECT_EQ(whole()["choices"][0]["message"]["content"], text);
}

TEST_F(ChatTest, DrainLetsRequestsFinishAndTakesNoNewOnes) {
  start();
  engine_.play([](const engine::Generate&) {
    // Long enough for all that is asked meanwhile, also under a sanitizer on a busy machine.
    return Script{.steps = one_by_one("finished"), .pause = milliseconds(400)};
  });
  RawClient idle(port());
  idle.send(get("/livez", ""));
  ASSERT_TRUE(idle.response().has_value());
  RawClient client(port());
  client.send(post(chat()));
  ASSERT_TRUE(engine_.wait([&] { return engine_.running() == 1; }));
  std::thread drain([&] { server_->drain(std::chrono::seconds(10)); });
  EXPECT_TRUE(idle.closed());
  RawClient probe(port());  // the port stays open while the answer runs
  probe.send(get("/readyz", ""));
  const auto ready = probe.response();
  ASSERT_TRUE(ready.has_value());
  EXPECT_EQ(ready->status, 503);
  EXPECT_TRUE(probe.closed());
  RawClient late(port());
  late.send(post(chat()));
  const auto refused = late.response();
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->status, 503);
  const auto answer = client.response();
  drain.join();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(json::parse(answer->body)["choices"][0]["message"]["content"], "finished");
  EXPECT_EQ(answer->field("Connection"), "close");
  EXPECT_FALSE(RawClient(port()).connected());
}

TEST_F(ChatTest, DrainCancelsWhatDoesNotFinishInTime) {
  start();
  answer_for_ever(tokens_of("x"), milliseconds(2));
  RawClient whole_client(port());
  whole_client.send(post(chat()));
  RawClient stream_client(port());
  stream_client.send(post(chat(R"(,"stream":true)")));
  ASSERT_TRUE(stream_client.read_until("\"content\":\"x\""));
  ASSERT_TRUE(engine_.wait([&] { return engine_.running() == 2; }));
  server_->drain(milliseconds(50));
  EXPECT_EQ(whole_client.response()->status, 503);
  stream_client.closed();
  EXPECT_NE(stream_client.in().find("\"error\""), std::string::npos);
  EXPECT_EQ(ended("cancelled"), 2);
  EXPECT_EQ(engine_.running(), 0U);
}

TEST_F(ChatTest, DestroyingTheServerCancelsWhatRuns) {
  start();
  answer_for_ever(tokens_of("x"), milliseconds(1));
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<RawClient>(port()));
    clients.back()->send(post(chat(R"(,"stream":true)")));
  }
  ASSERT_TRUE(engine_.wait([&] { return engine_.running() == 8; }));
  server_.reset();
  EXPECT_TRUE(engine_.wait([&] { return engine_.running() == 0; }));
  EXPECT_EQ(ended("cancelled"), 8);
}

// Many clients at a time that finish, leave early or send nonsense: the books balance.
TEST_F(ChatTest, EveryAcceptedRequestHasExactlyOneOutcome) {
  start();
  engine_.play([](const engine::Generate&) {
    return Script{.steps = one_by_one("some longer answer"), .pause = milliseconds(1)};
  });
  std::vector<std::thread> clients;
  constexpr int kClients = 8;
  constexpr int kRounds = 12;
  clients.reserve(kClients);
  for (int c = 0; c < kClients; ++c) {
    clients.emplace_back([this, c] {
      for (int i = 0; i < kRounds; ++i) {
        RawClient client(port());
        client.send(post(chat((c + i) % 2 == 0 ? R"(,"stream":true)" : "")));
        if ((c * kRounds + i) % 3 == 0) client.read_some(milliseconds(i));
        if ((c * kRounds + i) % 3 == 1) client.response();
      }
    });
  }
  for (std::thread& client : clients) client.join();
  // A client that left may have sent its request: only a server that is gone has read all there
  // was.
  server_->drain(std::chrono::seconds(5));
  server_.reset();
  EXPECT_TRUE(engine_.wait([&] { return engine_.running() == 0; }));
  const auto accepted = static_cast<double>(engine_.requests().size());
  EXPECT_EQ(ended("stop") + ended("cancelled"), accepted);
  EXPECT_EQ(metric("o3_request_seconds_count"), accepted);
  EXPECT_GT(ended("stop"), 0);
}

}  // namespace
}  // namespace o3::api
