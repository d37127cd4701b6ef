// SPDX-License-Identifier: Apache-2.0
// Every address that the server answers, with its action and access rule. There is no other way in.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/api_error.h"
#include "api/gate.h"
#include "api/http/exchange.h"
#include "api/request_metrics.h"

namespace o3::api {

// What a route's resolve step makes of a request: the resource to decide on, and what it parsed.
template <class Payload>
struct Resolved {
  std::string model;  // empty: no model in particular
  Payload payload;
};

// What every row needs; outlives the table.
struct RouteParts {
  const Gate& gate;
  RequestMetrics& metrics;

  // Answers with the error and counts it.
  void refuse(http::Exchange& exchange, const Error& error) const;
  // Answers once the permit's record is closed.
  void answer(std::shared_ptr<http::Exchange> exchange, Permit permit,
              http::Response response) const;
};

// What /openapi.json says of a row.
struct RouteDoc {
  const char* summary = nullptr;            // null: the row is left out
  std::string_view request{};               // name of the body's schema; empty: no body
  const char* answer = "application/json";  // media type
  bool streams = false;                     // may also be text/event-stream
};

struct Route {
  std::string_view method;
  std::string path;  // "/v1/models/{id}": {id} is the rest of the path, at least one character
  govern::Action action;
  govern::Access access;
  size_t body_limit = 0;  // 0: takes none
  // Runs on a worker thread, on public rows on the io thread.
  std::function<void(std::shared_ptr<http::Exchange>, const Admission&)> run;
  RouteDoc doc{};
};

inline Route documented(RouteDoc doc, Route row) {
  row.doc = doc;
  return row;
}

// A row with a handler that needs nothing parsed and has its answer at once.
template <govern::Action A>
Route route(const RouteParts& parts, std::string_view method, std::string path,
            govern::Access access,
            std::function<http::Response(const http::Exchange&, const Authorized<A>&)> handler) {
  auto run = [parts, handler = std::move(handler)](const std::shared_ptr<http::Exchange>& exchange,
                                                   const Admission& admission) {
    auto authorized = parts.gate.authorize<A>(admission, {}, exchange->request_id);
    if (!authorized.ok()) return parts.refuse(*exchange, authorized.error());
    http::Response response = handler(*exchange, *authorized);
    parts.answer(exchange, (*std::move(authorized)).take(), std::move(response));
  };
  return {method, std::move(path), A, access, 0, std::move(run), {}};
}

// A row whose handler is reached in three steps: resolve (parse the request; it learns who asks but
// has no permission yet), the gate's decision on the model it names, then the handler.
template <govern::Action A, class Payload>
Route route(
    const RouteParts& parts, std::string_view method, std::string path, govern::Access access,
    size_t body_limit,
    std::function<Result<Resolved<Payload>>(http::Exchange&, const govern::Principal&)> resolve,
    std::function<void(std::shared_ptr<http::Exchange>, Authorized<A>, Payload)> handler) {
  auto run = [parts, resolve = std::move(resolve), handler = std::move(handler)](
                 std::shared_ptr<http::Exchange> exchange, const Admission& admission) {
    auto resolved = resolve(*exchange, admission.principal());
    if (!resolved.ok()) return parts.refuse(*exchange, resolved.error());
    auto authorized = parts.gate.authorize<A>(admission, {resolved->model}, exchange->request_id);
    if (!authorized.ok()) return parts.refuse(*exchange, authorized.error());
    handler(std::move(exchange), *std::move(authorized), std::move(resolved->payload));
  };
  return {method, std::move(path), A, access, body_limit, std::move(run), {}};
}

class RouteTable {
 public:
  // Broken invariants: a row given twice, a public row whose action is not reading health or the
  // page.
  explicit RouteTable(std::vector<Route> rows);

  struct NotFound {};
  struct MethodNotAllowed {
    std::string allow;  // the Allow field
  };
  using Match = std::variant<const Route*, NotFound, MethodNotAllowed>;

  // A row's path that is near to one that matches nothing: what its author may have meant. Empty:
  // none is.
  std::string near(std::string_view path) const;

  // HEAD is answered by GET's row.
  Match match(std::string_view method, std::string_view path) const;

  const std::vector<Route>& rows() const noexcept { return rows_; }

 private:
  std::vector<Route> rows_;
};

// The {id} part of a path that matched `row`, percent-decoded; empty if it is malformed.
std::string path_id(const std::string& row, std::string_view path);

}  // namespace o3::api
