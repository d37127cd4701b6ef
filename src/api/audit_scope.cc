// SPDX-License-Identifier: Apache-2.0
#include "api/audit_scope.h"

#include <utility>

#include "base/check.h"

namespace o3::api {

AuditScope::AuditScope(std::unique_ptr<govern::AuditRecord> record,
                       std::shared_ptr<PendingCloses> pending)
    : record_(std::move(record)), pending_(std::move(pending)) {}

AuditScope::~AuditScope() {
  close_unsaid();
}

AuditScope& AuditScope::operator=(AuditScope&& other) noexcept {
  if (this == &other) return *this;
  close_unsaid();
  record_ = std::move(other.record_);
  pending_ = std::move(other.pending_);
  closed_ = other.closed_;
  return *this;
}

void AuditScope::close_unsaid() {
  if (record_) close({.outcome = Outcome::kError}, {});
}

void AuditScope::close(const govern::AuditClose& how,
                       std::function<void(const Result<void>&)> durable) {
  O3_CHECK(!std::exchange(closed_, true), "an audit record is closed twice");
  const auto record = std::move(record_);
  if (!record) {
    if (durable) durable({});
    return;
  }
  pending_->count_.fetch_add(1);
  record->close(
      how, [pending = pending_, durable = std::move(durable)](const Result<void>& result) mutable {
        if (auto call = std::exchange(durable, nullptr)) call(result);
        pending->count_.fetch_sub(1);  // only now: what the callback held is gone
      });
}

}  // namespace o3::api
