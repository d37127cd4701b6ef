// SPDX-License-Identifier: Apache-2.0
// Any head that passes check_head() is read by the HTTP parser as the same single request.
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/http/head_check.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace http = boost::beast::http;
  const std::string_view head(reinterpret_cast<const char*>(data), size);
  const auto checked = o3::api::http::check_head(head);
  http::request_parser<http::string_body> parser;
  parser.body_limit(boost::none);
  parser.header_limit(static_cast<uint32_t>(size));
  boost::system::error_code error;
  const size_t used = parser.put(boost::asio::buffer(data, size), error);
  if (!checked.ok()) {
    O3_CHECK(!checked.error().message.empty(), "an error says something");
    return 0;
  }
  if (!parser.is_header_done()) return 0;  // the parser may be stricter
  O3_CHECK(used == size, "the whole head is one request's");
  const std::string_view target(parser.get().target().data(), parser.get().target().size());
  O3_CHECK(target.starts_with('/'), "an origin-form target");
  O3_CHECK(!parser.chunked() || !parser.content_length(), "one way to find the body's end");
  const bool coded = parser.get().count("Transfer-Encoding") > 0;
  O3_CHECK(coded == parser.chunked(), "no transfer coding but chunked");
  O3_CHECK(parser.get().count("Host") <= 1, "one host");
  return 0;
}
