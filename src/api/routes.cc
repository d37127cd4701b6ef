// SPDX-License-Identifier: Apache-2.0
#include "api/routes.h"

#include "api/endpoints.h"
#include "api/openai/handlers.h"

namespace o3::api {
namespace {

using govern::Access;
using govern::Action;
using ExchangePtr = std::shared_ptr<http::Exchange>;

std::vector<Route> health_routes(Services& services) {
  return {
      route<Action::kReadHealth>(services.route, "GET", "/livez", Access::kPublic,
                                 [](const http::Exchange&, const auto&) { return livez(); }),
      route<Action::kReadHealth>(
          services.route, "GET", "/readyz", Access::kPublic,
          [&services](const http::Exchange&, const auto&) { return readyz(services); }),
  };
}

std::vector<Route> key_routes(Services& services, const prometheus::Registry& registry) {
  const std::string model_row = "/v1/models/{id}";
  return {
      route<Action::kReadMetrics>(
          services.route, "GET", "/metrics", Access::kKey,
          [&registry](const http::Exchange&, const auto&) { return metrics_text(registry); }),
      route<Action::kListModels>(services.route, "GET", "/v1/models", Access::kKeyOrPageToken,
                                 [&services](const http::Exchange&, const auto& authorized) {
                                   return openai::list_models(services, authorized);
                                 }),
      route<Action::kListModels, openai::ModelCall>(
          services.route, "GET", model_row, Access::kKeyOrPageToken, 0,
          [&services, model_row](http::Exchange& exchange, const govern::Principal&) {
            return openai::resolve_model(services, exchange, model_row);
          },
          [&services](const ExchangePtr& exchange, Authorized<Action::kListModels> authorized,
                      const openai::ModelCall& model) {
            services.route.answer(exchange, std::move(authorized).take(),
                                  openai::show_model(*model));
          }),
      route<Action::kChat, openai::ChatCall>(
          services.route, "POST", "/v1/chat/completions", Access::kKeyOrPageToken,
          services.body_limit,
          [&services](http::Exchange& exchange, const govern::Principal&) {
            return openai::resolve_chat(services, exchange);
          },
          [&services](const ExchangePtr& exchange, Authorized<Action::kChat> authorized,
                      openai::ChatCall call) {
            openai::run_chat(services, exchange, std::move(authorized), std::move(call));
          }),
  };
}

}  // namespace

std::vector<Route> make_routes(Services& services, const prometheus::Registry& registry,
                               std::span<const Asset> assets) {
  std::vector<Route> rows = health_routes(services);
  for (Route& row : key_routes(services, registry)) rows.push_back(std::move(row));
  for (const Asset& asset : assets) {
    rows.push_back(route<Action::kReadPage>(services.route, "GET", std::string(asset.path),
                                            Access::kPublic,
                                            [&asset](const http::Exchange& exchange, const auto&) {
                                              return page_asset(asset, exchange.head);
                                            }));
  }
  return rows;
}

}  // namespace o3::api
