// SPDX-License-Identifier: Apache-2.0
#include "api/front.h"

#include <optional>

#include "govern/api_key.h"

namespace o3::api {
namespace {

// The media type alone decides: a browser sends JSON across origins only after asking first, which
// this server never grants, so that other pages cannot use a server without keys.
bool is_json(const std::string* content_type) {
  if (content_type == nullptr) return false;
  std::string_view type = *content_type;
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
  return http::same_name(type, "application/json");
}

std::optional<ApiError> check_body(const http::RequestHead& head, const Route& route) {
  if (route.body_limit == 0) {
    if (!head.has_body) return std::nullopt;
    return http_error(400, "This address takes no body.");
  }
  if (!is_json(head.find("Content-Type"))) {
    return http_error(415, "The body must be JSON: send Content-Type: application/json.");
  }
  if (head.find("Content-Encoding") != nullptr) {
    return http_error(415, "Compressed bodies are not accepted.");
  }
  return std::nullopt;
}

}  // namespace

http::Response Front::refuse(int status, std::string message) const {
  services_.route.metrics.refused(status);
  return error_response(http_error(status, std::move(message)));
}

// Everything a head can be refused for before anyone's credentials are looked at.
std::optional<http::Response> Front::check(const http::RequestHead& head,
                                           const Route*& route) const {
  if (!hosts_.accepts(head.find("Host"))) {
    return refuse(403, "This Host is not served; use localhost, or name it with allowed_hosts.");
  }
  const std::string path = head.path.substr(0, 200);
  const RouteTable::Match match = table_.match(head.method, head.path);
  if (const auto* other = std::get_if<RouteTable::MethodNotAllowed>(&match)) {
    http::Response response = refuse(405, path + " takes " + other->allow + ".");
    response.fields.emplace_back("Allow", other->allow);
    return response;
  }
  const auto* found = std::get_if<const Route*>(&match);
  if (found == nullptr) {
    const std::string near = table_.near(head.path);
    return refuse(404, "There is nothing at " + path + "." +
                           (near.empty() ? "" : " Did you mean " + near + "?"));
  }
  route = *found;
  if (services_.draining.load() && route->access != govern::Access::kPublic) {
    http::Response response = refuse(503, "The server is shutting down.");
    response.close = true;
    return response;
  }
  return std::nullopt;
}

std::string Front::new_request_id() {
  const auto id = govern::random_hex(12);
  return "req_" + (id.ok() ? *id : std::string("0"));
}

http::Verdict Front::judge(const http::RequestHead& head) const {
  http::Verdict verdict;
  const Route* route = nullptr;
  verdict.refusal = check(head, route);
  if (verdict.refusal) return verdict;
  auto admission =
      services_.route.gate.admit(route->action, route->access, head.find("Authorization"));
  std::optional<ApiError> error;
  if (admission.ok()) {
    error = check_body(head, *route);
  } else {
    error = api_error(admission.error());
  }
  if (error) {
    services_.route.metrics.refused(error->status);
    verdict.refusal = error_response(*error);
    return verdict;
  }
  verdict.body_limit = route->body_limit;
  verdict.handler = [this, route, admission = *std::move(admission)](
                        const std::shared_ptr<http::Exchange>& exchange) {
    // Public rows answer at once, also while every worker is busy.
    if (route->access == govern::Access::kPublic) return route->run(exchange, admission);
    const bool taken =
        services_.workers.run([route, admission, exchange] { route->run(exchange, admission); });
    if (!taken) exchange->respond(refuse(503, "Too many requests wait; try again."));
  };
  return verdict;
}

}  // namespace o3::api
