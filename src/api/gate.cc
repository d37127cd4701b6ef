// SPDX-License-Identifier: Apache-2.0
#include "api/gate.h"

#include "api/http/message.h"

namespace o3::api {
namespace {

using govern::Access;
using govern::Principal;
using govern::PrincipalKind;

// The credential of "Bearer CREDENTIAL"; empty if the field has another form.
std::string_view bearer(std::string_view field) {
  const size_t space = field.find(' ');
  if (space == std::string_view::npos || !http::same_name(field.substr(0, space), "Bearer")) {
    return {};
  }
  const size_t start = field.find_first_not_of(' ', space);
  return start == std::string_view::npos ? std::string_view{} : field.substr(start);
}

Error unauthenticated(std::string message) {
  return Error{Code::kUnauthenticated, std::move(message), {}};
}

// What is wrong with a field that holds no credential.
Error no_credential(const std::string& field) {
  const std::string scheme = field.substr(0, field.find(' '));
  if (http::same_name(scheme, "Bearer")) {
    return unauthenticated("The API key in \"Authorization: Bearer KEY\" is empty.");
  }
  return unauthenticated(
      "Authorization must be \"Bearer KEY\"; this server takes no other kind of credential (such "
      "as Basic).");
}

}  // namespace

Error unknown_model(std::string_view name) {
  return Error{Code::kNotFound,
               "There is no model \"" + std::string(name.substr(0, 200)) +
                   "\" that this key may use; GET /v1/models lists them.",
               "model"};
}

std::optional<Principal> Gate::identify(std::string_view credential) const {
  if (parts_.page_token != nullptr) {
    if (auto page = parts_.page_token->find(credential)) return page;
  }
  return parts_.keys->find(credential);
}

Result<Admission> Gate::admit(govern::Action action, Access access,
                              const std::string* authorization) const {
  if (access == Access::kPublic) return Admission(Principal{}, action, access);
  if (parts_.keys == nullptr) {
    return Admission(Principal{.kind = PrincipalKind::kLocal,
                               .id = "user:local",
                               .tenant = "default",
                               .models = {"*"}},
                     action, access);
  }
  if (authorization == nullptr) {
    return unauthenticated(
        "This server needs an API key: send it as \"Authorization: Bearer KEY\".");
  }
  const std::string_view credential = bearer(*authorization);
  if (credential.empty()) return no_credential(*authorization);
  auto principal = identify(credential);
  if (!principal) return unauthenticated("The API key is not known to this server.");
  if (principal->kind == PrincipalKind::kPageToken && access != Access::kKeyOrPageToken) {
    return Error{Code::kDenied, govern::decide(*principal, access, action, {}).reason, {}};
  }
  return Admission(*std::move(principal), action, access);
}

Result<Permit> Gate::permit_for(const Admission& admission, const govern::Resource& resource,
                                std::string_view request_id) const {
  const Principal& principal = admission.principal_;
  const auto decision = govern::decide(principal, admission.access_, admission.action_, resource);
  Permit permit{
      .principal = principal, .model = std::string(resource.model), .quota = {}, .audit = {}};
  if (admission.access_ == Access::kPublic && decision.allowed) return permit;
  const govern::AuditOpen record{.principal = principal,
                                 .action = admission.action_,
                                 .model = permit.model,
                                 .request_id = std::string(request_id),
                                 .decision = decision};
  if (!decision.allowed) {
    parts_.audit.denied(record);
    if (decision.rule == "model-list") return unknown_model(resource.model);
    return Error{Code::kDenied, decision.reason, {}};
  }
  O3_ASSIGN(permit.quota, parts_.quota.reserve(principal, admission.action_));
  O3_ASSIGN(auto opened, parts_.audit.open(record));
  permit.audit = AuditScope(std::move(opened), pending_);
  return permit;
}

}  // namespace o3::api
