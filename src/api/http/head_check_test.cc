// SPDX-License-Identifier: Apache-2.0
#include "api/http/head_check.h"

#include <gtest/gtest.h>

#include <string>

#include "api/http/body_budget.h"
#include "api/http/message.h"

namespace o3::api::http {
namespace {

std::string with(const std::string& fields, const std::string& line = "POST / HTTP/1.1") {
  return line + "\r\nHost: x\r\n" + fields + "\r\n";
}

TEST(HeadCheck, AcceptsOrdinaryRequests) {
  for (const std::string& head :
       {with(""), with("Content-Length: 0\r\n"), with("Transfer-Encoding: chunked\r\n"),
        with("transfer-encoding:  Chunked \r\n"), with("X-Empty:\r\nX-Tab: a\tb\r\n"),
        with("X-Latin: caf\xe9\r\n"), with("", "GET /a?b=c%20d HTTP/1.1"),
        std::string("GET / HTTP/1.0\r\n\r\n"), with("Accept: a\r\nAccept: b\r\n")}) {
    const auto checked = check_head(head);
    EXPECT_TRUE(checked.ok()) << head << (checked.ok() ? "" : checked.error().message);
  }
}

TEST(HeadCheck, RefusesWhatTwoReadersCouldUnderstandDifferently) {
  for (const std::string& head : {
           with("Content-Length: 1\r\nContent-Length: 2\r\n"),
           with("Content-Length: 1\r\ncontent-length: 1\r\n"),
           with("Content-Length: 1, 1\r\n"),
           with("Content-Length: +1\r\n"),
           with("Content-Length: -1\r\n"),
           with("Content-Length: 0x1\r\n"),
           with("Content-Length: 1 1\r\n"),
           with("Content-Length:\r\n"),
           with("Content-Length: 99999999999999999999\r\n"),
           with("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
           with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
           with("Transfer-Encoding: gzip, chunked\r\n"),
           with("Transfer-Encoding: chunked, identity\r\n"),
           with("Transfer-Encoding: xchunked\r\n"),
           with("Transfer-Encoding: \x0b"
                "chunked\r\n"),
           with("Transfer-Encoding : chunked\r\n"),
           with("X: a\r\n b\r\n"),
           with("X: a\r\n\tb\r\n"),
           with(" X: a\r\n"),
           with("X: a\nY: b\r\n"),
           with("X: a\rY: b\r\n"),
           with(std::string("X: a\0b\r\n", 8)),
           with("X\r\n"),
           with(": a\r\n"),
           with("X Y: a\r\n"),
           with("Host: y\r\n"),
           with("Authorization: a\r\nAuthorization: b\r\n"),
           with("Content-Type: a\r\nContent-Type: b\r\n"),
           with("", "POST  / HTTP/1.1"),
           with("", "POST / HTTP/1.1 "),
           with("", "POST /a b HTTP/1.1"),
           with("", "POST http://x/ HTTP/1.1"),
           with("", "OPTIONS * HTTP/1.1"),
           with("", "CONNECT x:80 HTTP/1.1"),
           with("", "GET /\xc3\xa9 HTTP/1.1"),
           with("", "GET /a#b HTTP/1.1"),
           with("", "GET /"),
           with("", "P(ST / HTTP/1.1"),
           with("", "GET / HTTP/2.0"),
           with("", "GET / HTTP/1.2"),
           with("", "GET / http/1.1"),
           with("", ""),
           std::string("GET / HTTP/1.1\r\n\r\n"),
           std::string("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),
           std::string("GET / HTTP/1.1\nHost: x\n\n"),
           std::string("GET / HTTP/1.1\r\nHost: x\r\n"),
       }) {
    EXPECT_FALSE(check_head(head).ok()) << head;
  }
  std::string many;
  for (int i = 0; i < 100; ++i) many += "X: y\r\n";
  const auto refused = check_head(with(many));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kTooLong);
}

TEST(HeadCheck, OnlyAWellFormedVersionIsAnotherVersion) {
  const auto code = [](const std::string& version) {
    return check_head("GET / " + version + "\r\nHost: x\r\n\r\n").error().code;
  };
  for (const char* version : {"HTTP/2.0", "HTTP/1.2", "HTTP/0.9", "HTTP/3.0"}) {
    EXPECT_EQ(code(version), Code::kUnsupported) << version;
  }
  for (const char* version :
       {"HTTP/1.1 ", " HTTP/1.1", "HTTP/1.1 x", "HTTP/1.10", "HTTP/11", "HTTP/", "HTTP/1.1\t",
        "HTTP/a.b", "HTTP/2", "http/1.1", "HTTPS/1.1"}) {
    EXPECT_EQ(code(version), Code::kInvalid) << version;
  }
}

TEST(HeadCheck, ABrokenLineIsSeenBeforeTheHeadIsWhole) {
  const std::string head = "GET / HTTP/1.1\r\nHost: x\r\nX: a\tb\r\n\r\n";
  for (size_t cut = 0; cut <= head.size(); ++cut) {
    EXPECT_TRUE(lines_are_whole(std::string_view(head).substr(0, cut), 0)) << cut;
  }
  using std::string_literals::operator""s;
  for (const std::string& bad : {"GET / HTTP/1.1\n"s, "GET / HTTP/1.1\r\nHost: x\n"s, "\n"s,
                                 "GET /\rX"s, "\r\r"s, "G\0"s, "\x16\x03\x01"s, "a\x7f"s}) {
    EXPECT_FALSE(lines_are_whole(bad, 0)) << bad;
    EXPECT_FALSE(lines_are_whole(bad, bad.size() - 1)) << "the last byte alone is new: " << bad;
  }
}

TEST(Message, FieldsAreFoundWhateverTheirCase) {
  RequestHead head;
  head.fields = {{"Content-Type", "a"}, {"content-type", "b"}};
  ASSERT_NE(head.find("CONTENT-TYPE"), nullptr);
  EXPECT_EQ(*head.find("CONTENT-TYPE"), "a");
  EXPECT_EQ(head.find("Content"), nullptr);
}

TEST(Message, HeadsAreComplete) {
  const Response response{
      .status = 404, .content_type = "text/plain", .body = "no", .fields = {{"X-A", "b"}}};
  EXPECT_EQ(render_head(response, Framing::kLength, false, imf_date(784111777)),
            "HTTP/1.1 404 Not Found\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
            "X-Content-Type-Options: nosniff\r\nContent-Type: text/plain\r\nX-A: b\r\n"
            "Content-Length: 2\r\nConnection: close\r\n\r\n");
}

TEST(BodyBudgetTest, NeverLendsMoreThanItHas) {
  BodyBudget budget(100);
  {
    BodyLease one(budget);
    BodyLease two(budget);
    EXPECT_TRUE(one.grow_to(60));
    EXPECT_FALSE(two.grow_to(41));
    EXPECT_TRUE(two.grow_to(40));
    EXPECT_FALSE(one.grow_to(61));
    EXPECT_TRUE(one.grow_to(10)) << "a share never shrinks by growing";
    two.release();
    EXPECT_TRUE(one.grow_to(100));
    BodyLease three(std::move(one));
    EXPECT_EQ(budget.held(), 100U);
  }
  EXPECT_EQ(budget.held(), 0U);
}

}  // namespace
}  // namespace o3::api::http
