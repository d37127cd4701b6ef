// SPDX-License-Identifier: Apache-2.0
#include "api/route_table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/hex.h"
#include "base/log.h"

namespace o3::api {
namespace {

constexpr std::string_view kId = "{id}";

bool matches(const std::string& row, std::string_view path) {
  if (!row.ends_with(kId)) return row == path;
  const std::string_view stem = std::string_view(row).substr(0, row.size() - kId.size());
  return path.starts_with(stem) && path.size() > stem.size();
}

bool may_be_public(govern::Action action) {
  return action == govern::Action::kReadHealth || action == govern::Action::kReadPage ||
         action == govern::Action::kReadApi;
}

// Letters to insert, delete or replace (Levenshtein).
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace

void RouteParts::refuse(http::Exchange& exchange, const Error& error) const {
  const ApiError wire = api_error(error);
  metrics.refused(wire.status);
  if (error.code == Code::kInternal) {
    log::error("request {}: {}", exchange.request_id, error.message);
  }
  exchange.respond(error_response(wire));
}

void RouteParts::answer(std::shared_ptr<http::Exchange> exchange, Permit permit,
                        http::Response response) const {
  permit.audit.close({.outcome = Outcome::kStop},
                     [parts = *this, exchange = std::move(exchange),
                      response = std::move(response)](const Result<void>& durable) {
                       if (!durable.ok()) return parts.refuse(*exchange, durable.error());
                       exchange->respond(response);
                     });
}

RouteTable::RouteTable(std::vector<Route> rows) : rows_(std::move(rows)) {
  for (size_t i = 0; i < rows_.size(); ++i) {
    const Route& row = rows_[i];
    O3_CHECK(row.access != govern::Access::kPublic || may_be_public(row.action),
             "a public row for something that needs a key");
    const auto same = [&](const Route& other) {
      return other.path == row.path && other.method == row.method;
    };
    O3_CHECK(std::none_of(rows_.begin(), rows_.begin() + static_cast<ptrdiff_t>(i), same),
             "a route given twice");
  }
}

RouteTable::Match RouteTable::match(std::string_view method, std::string_view path) const {
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  std::string allow;
  for (const Route& row : rows_) {
    if (!matches(row.path, path)) continue;
    if (row.method == wanted) return &row;
    if (!allow.empty()) allow += ", ";
    allow += row.method;
    if (row.method == "GET") allow += ", HEAD";
  }
  if (allow.empty()) return NotFound{};
  return MethodNotAllowed{std::move(allow)};
}

std::string RouteTable::near(std::string_view path) const {
  constexpr size_t kLongest = 64;  // no row is as long
  constexpr size_t kTypos = 2;
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  if (path.size() < 4 || path.size() > kLongest) return {};
  for (const Route& row : rows_) {
    const std::string_view stem(row.path);
    // The base URL lacks its /v1, or has it twice.
    const bool prefix = stem.ends_with(path) || path == "/v1" + row.path;
    const std::string versioned = "/v1" + std::string(path);
    if (prefix || distance(stem, path) <= kTypos || distance(stem, versioned) <= kTypos) {
      return row.path;
    }
  }
  return {};
}

std::string path_id(const std::string& row, std::string_view path) {
  path.remove_prefix(row.size() - kId.size());
  std::string id;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%') {
      id += path[i];
      continue;
    }
    if (i + 2 >= path.size()) return {};
    const int high = hex_digit(path[i + 1]);
    const int low = hex_digit(path[i + 2]);
    if (high < 0 || low < 0) return {};
    id += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return id;
}

}  // namespace o3::api
