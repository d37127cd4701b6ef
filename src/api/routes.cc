// SPDX-License-Identifier: Apache-2.0
#include "api/routes.h"

#include "api/endpoints.h"
#include "api/manage_endpoints.h"
#include "api/openai/handlers.h"
#include "api/openapi.h"
#include "api/text_endpoints.h"

namespace o3::api {
namespace {

using govern::Access;
using govern::Action;
using ExchangePtr = std::shared_ptr<http::Exchange>;

std::vector<Route> health_routes(Services& services) {
  constexpr const char* kPlain = "text/plain";
  return {
      documented(
          {.summary = "The process answers", .answer = kPlain},
          route<Action::kReadHealth>(services.route, "GET", "/livez", Access::kPublic,
                                     [](const http::Exchange&, const auto&) { return livez(); })),
      documented({.summary = "The server takes requests", .answer = kPlain},
                 route<Action::kReadHealth>(
                     services.route, "GET", "/readyz", Access::kPublic,
                     [&services](const http::Exchange&, const auto&) { return readyz(services); })),
      documented({.summary = "The server takes requests"},
                 route<Action::kReadHealth>(
                     services.route, "GET", "/health", Access::kPublic,
                     [&services](const http::Exchange&, const auto&) { return health(services); })),
  };
}

std::vector<Route> model_routes(Services& services) {
  const std::string model_row = "/v1/models/{id}";
  return {
      documented(
          {.summary = "The models that the key may use"},
          route<Action::kListModels>(services.route, "GET", "/v1/models", Access::kKeyOrPageToken,
                                     [&services](const http::Exchange&, const auto& allowed) {
                                       return openai::list_models(services, allowed);
                                     })),
      documented(
          {.summary = "One model"},
          route<Action::kListModels, openai::ModelCall>(
              services.route, "GET", model_row, Access::kKeyOrPageToken, 0,
              [&services, model_row](http::Exchange& exchange, const govern::Principal&) {
                return openai::resolve_model(services, exchange, model_row);
              },
              [&services](const ExchangePtr& exchange, Authorized<Action::kListModels> authorized,
                          const openai::ModelCall& call) {
                services.route.answer(exchange, std::move(authorized).take(),
                                      openai::show_model(call));
              })),
  };
}

std::vector<Route> generation_routes(Services& services) {
  return {
      documented({.summary = "Answer a conversation", .request = "ChatRequest", .streams = true},
                 route<Action::kChat, openai::ChatCall>(
                     services.route, "POST", "/v1/chat/completions", Access::kKeyOrPageToken,
                     services.body_limit,
                     [&services](http::Exchange& exchange, const govern::Principal&) {
                       return openai::resolve_chat(services, exchange);
                     },
                     [&services](const ExchangePtr& exchange, Authorized<Action::kChat> authorized,
                                 openai::ChatCall call) {
                       openai::run_chat(services, exchange, std::move(authorized), std::move(call));
                     })),
      documented(
          {.summary = "Continue text", .request = "CompletionRequest", .streams = true},
          route<Action::kComplete, openai::CompletionCall>(
              services.route, "POST", "/v1/completions", Access::kKey, services.body_limit,
              [&services](http::Exchange& exchange, const govern::Principal&) {
                return openai::resolve_completion(services, exchange);
              },
              [&services](const ExchangePtr& exchange, Authorized<Action::kComplete> authorized,
                          const openai::CompletionCall& call) {
                openai::run_completion(services, exchange, std::move(authorized), call);
              })),
  };
}

Route manage_route(Services& services, std::string path, const char* summary,
                   Result<http::Response> (*answer)(const Services&, const std::string&)) {
  return documented(
      {.summary = summary, .request = "ManageRequest"},
      route<Action::kManageModels, std::string>(
          services.route, "POST", std::move(path), Access::kKey, services.body_limit,
          [&services](http::Exchange& exchange, const govern::Principal&) {
            return resolve_managed(services, exchange);
          },
          [&services, answer](const ExchangePtr& exchange,
                              Authorized<Action::kManageModels> authorized, const std::string& id) {
            auto response = answer(services, id);
            if (!response.ok()) return services.route.refuse(*exchange, response.error());
            services.route.answer(exchange, std::move(authorized).take(), *std::move(response));
          }));
}

std::vector<Route> manage_routes(Services& services) {
  if (services.manager == nullptr) return {};
  return {
      documented(
          {.summary = "The models of the configuration, loaded or not"},
          route<Action::kListModels>(services.route, "GET", "/models", Access::kKey,
                                     [&services](const http::Exchange&, const auto& allowed) {
                                       return list_managed(services, allowed);
                                     })),
      manage_route(services, "/models/load", "Load a model of the configuration", load_managed),
      manage_route(services, "/models/unload", "Unload a model once its requests have finished",
                   unload_managed),
  };
}

using Resolve = Result<Resolved<TextCall>> (*)(Services&, http::Exchange&,
                                               const govern::Principal&);
using Answer = std::function<Result<http::Response>(const TextCall&)>;

Route text_route(Services& services, std::string path, RouteDoc doc, Resolve resolve,
                 Answer answer) {
  return documented(
      doc, route<Action::kTokenize, TextCall>(
               services.route, "POST", std::move(path), Access::kKey, services.body_limit,
               [&services, resolve](http::Exchange& exchange, const govern::Principal& principal) {
                 return resolve(services, exchange, principal);
               },
               [&services, answer = std::move(answer)](const ExchangePtr& exchange,
                                                       Authorized<Action::kTokenize> authorized,
                                                       const TextCall& call) {
                 auto response = answer(call);
                 if (!response.ok()) return services.route.refuse(*exchange, response.error());
                 services.route.answer(exchange, std::move(authorized).take(),
                                       *std::move(response));
               }));
}

std::vector<Route> text_routes(Services& services) {
  return {
      text_route(services, "/tokenize",
                 {.summary = "Text or a conversation as tokens", .request = "TokenizeRequest"},
                 resolve_tokenize, tokenize),
      text_route(services, "/detokenize",
                 {.summary = "Tokens as text", .request = "DetokenizeRequest"}, resolve_detokenize,
                 detokenize),
      text_route(services, "/apply-template",
                 {.summary = "A conversation as the model reads it", .request = "TemplateRequest"},
                 resolve_template, apply_template)};
}

Route metrics_route(Services& services, const prometheus::Registry& registry) {
  return documented({.summary = "Metrics in Prometheus's text format", .answer = "text/plain"},
                    route<Action::kReadMetrics>(services.route, "GET", "/metrics", Access::kKey,
                                                [&registry](const http::Exchange&, const auto&) {
                                                  return metrics_text(registry);
                                                }));
}

Route openapi_route(Services& services, const std::shared_ptr<const std::string>& document) {
  return documented(
      {.summary = "This document"},
      route<Action::kReadApi>(
          services.route, "GET", "/openapi.json", Access::kPublic,
          [document](const http::Exchange&, const auto&) {
            return http::Response{
                .status = 200, .content_type = "application/json", .body = *document, .fields = {}};
          }));
}

}  // namespace

std::vector<Route> make_routes(Services& services, const prometheus::Registry& registry,
                               std::span<const Asset> assets) {
  std::vector<Route> rows = health_routes(services);
  const auto add = [&](std::vector<Route> more) {
    for (Route& row : more) rows.push_back(std::move(row));
  };
  add(model_routes(services));
  add(manage_routes(services));
  add(generation_routes(services));
  add(text_routes(services));
  rows.push_back(metrics_route(services, registry));
  const auto document = std::make_shared<std::string>();
  rows.push_back(openapi_route(services, document));
  *document = openapi_document(rows);
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
