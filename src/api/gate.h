// SPDX-License-Identifier: Apache-2.0
// The one way from a request to an action: credentials, then the policy's decision on the
// resource, then quota and audit. Handlers take an Authorized<Action>, which only the gate makes,
// so none can be reached around it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/audit_scope.h"
#include "base/result.h"
#include "govern/audit.h"
#include "govern/key_store.h"
#include "govern/page_token.h"
#include "govern/policy.h"
#include "govern/quota.h"

namespace o3::api {

// Credentials were verified for a row of the route table; nothing is allowed yet.
class Admission {
 public:
  const govern::Principal& principal() const noexcept { return principal_; }

 private:
  friend class Gate;
  Admission(govern::Principal principal, govern::Action action, govern::Access access)
      : principal_(std::move(principal)), action_(action), access_(access) {}

  govern::Principal principal_;
  govern::Action action_;
  govern::Access access_;
};

// What comes with a permission: who, on what, under which quota and audit record (both empty on
// public rows, which have neither). Whatever becomes of a permit, its record is closed.
struct Permit {
  govern::Principal principal;
  std::string model;
  std::unique_ptr<govern::QuotaLease> quota;
  AuditScope audit;
};

template <govern::Action A>
class Authorized {
 public:
  const Permit& operator*() const noexcept { return permit_; }
  const Permit* operator->() const noexcept { return &permit_; }
  Permit take() && { return std::move(permit_); }

 private:
  friend class Gate;
  explicit Authorized(Permit permit) : permit_(std::move(permit)) {}

  Permit permit_;
};

// Any thread. What it is given must outlive it.
class Gate {
 public:
  struct Parts {
    const govern::KeySource* keys = nullptr;        // null: --no-auth
    const govern::PageToken* page_token = nullptr;  // null: no chat page
    govern::Quota& quota;
    govern::AuditLog& audit;
  };
  explicit Gate(Parts parts) : parts_(parts) {}

  // `authorization` is the field's value. kUnauthenticated: no or an unknown credential where the
  // row needs one; kDenied: a page token on a row that takes keys only. Does not block.
  Result<Admission> admit(govern::Action action, govern::Access access,
                          const std::string* authorization) const;

  // Decides on the resource, takes the quota and opens the audit record, which may block: worker
  // threads only, except for public rows. A model that the principal may not use is kNotFound, as
  // if it were not there.
  template <govern::Action A>
  Result<Authorized<A>> authorize(const Admission& admission, const govern::Resource& resource,
                                  std::string_view request_id) const {
    O3_CHECK(admission.action_ == A, "admitted for another action");
    O3_ASSIGN(Permit permit, permit_for(admission, resource, request_id));
    return Authorized<A>(std::move(permit));
  }

  // No close of a record that this gate opened is on its way to stable storage.
  bool settled() const noexcept { return pending_->none(); }

 private:
  Result<Permit> permit_for(const Admission& admission, const govern::Resource& resource,
                            std::string_view request_id) const;
  std::optional<govern::Principal> identify(std::string_view credential) const;

  Parts parts_;
  std::shared_ptr<PendingCloses> pending_ = std::make_shared<PendingCloses>();
};

Error unknown_model(std::string_view name);

}  // namespace o3::api
