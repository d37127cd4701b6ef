// SPDX-License-Identifier: Apache-2.0
#include "api/endpoints.h"

#include <prometheus/text_serializer.h>

namespace o3::api {
namespace {

http::Response plain(int status, std::string text) {
  return {.status = status,
          .content_type = "text/plain; charset=utf-8",
          .body = std::move(text),
          .fields = {{"Cache-Control", "no-store"}}};
}

// Empty: ready.
std::string_view not_ready(const Services& services) {
  if (services.draining.load()) return "shutting down";
  if (!services.ready.load()) return "loading";
  if (services.models.all()->empty()) return "no model is loaded";
  if (!services.engine.ready()) return "the engine takes no work";
  return {};
}

}  // namespace

http::Response livez() {
  return plain(200, "alive\n");
}

http::Response readyz(const Services& services) {
  const std::string_view why = not_ready(services);
  if (why.empty()) return plain(200, "ready\n");
  return plain(503, "not ready: " + std::string(why) + "\n");
}

http::Response health(const Services& services) {
  const std::string_view why = not_ready(services);
  if (!why.empty()) return error_response(http_error(503, "Not ready: " + std::string(why) + "."));
  return {.status = 200,
          .content_type = "application/json",
          .body = R"({"status":"ok"})",
          .fields = {{"Cache-Control", "no-store"}}};
}

http::Response metrics_text(const prometheus::Registry& registry) {
  return {.status = 200,
          .content_type = "text/plain; version=0.0.4; charset=utf-8",
          .body = prometheus::TextSerializer().Serialize(registry.Collect()),
          .fields = {{"Cache-Control", "no-store"}}};
}

http::Response page_asset(const Asset& asset, const http::RequestHead& head) {
  http::Response response{.status = 200,
                          .content_type = std::string(asset.content_type),
                          .body = {},
                          .fields = {{"ETag", std::string(asset.etag)},
                                     {"Cache-Control", "no-cache"},
                                     {"Content-Security-Policy", std::string(kPageSecurityPolicy)},
                                     {"Referrer-Policy", "no-referrer"},
                                     {"Cross-Origin-Opener-Policy", "same-origin"},
                                     {"Cross-Origin-Resource-Policy", "same-origin"}}};
  const std::string* known = head.find("If-None-Match");
  if (known != nullptr && *known == asset.etag) {
    response.status = 304;
  } else {
    response.body = asset.bytes;
  }
  return response;
}

}  // namespace o3::api
