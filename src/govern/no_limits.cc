// SPDX-License-Identifier: Apache-2.0
// The implementations of the quota and audit seams that do nothing.
#include "govern/audit.h"
#include "govern/quota.h"

namespace o3::govern {
namespace {

class UnlimitedLease final : public QuotaLease {
 public:
  Result<void> reserve_tokens(int64_t /*prompt*/, int64_t /*most_new*/) override { return {}; }
  void settle(int64_t /*prompt*/, int64_t /*completion*/) noexcept override {}
};

class NoRecord final : public AuditRecord {
 public:
  void close(const AuditClose& /*how*/, std::function<void(Result<void>)> durable) override {
    durable({});
  }
};

}  // namespace

Result<std::unique_ptr<QuotaLease>> UnlimitedQuota::reserve(const Principal& /*principal*/,
                                                            Action /*action*/) {
  return std::unique_ptr<QuotaLease>(std::make_unique<UnlimitedLease>());
}

Result<std::unique_ptr<AuditRecord>> NoAudit::open(const AuditOpen& /*what*/) {
  return std::unique_ptr<AuditRecord>(std::make_unique<NoRecord>());
}
void NoAudit::denied(const AuditOpen& /*what*/) noexcept {}

}  // namespace o3::govern
