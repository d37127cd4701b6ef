// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "base/result.h"
#include "govern/audit.h"

namespace o3::api {

// Closes that are not yet durable. Their callbacks reach into the server, which waits for them
// before it goes.
class PendingCloses {
 public:
  bool none() const noexcept { return count_.load() == 0; }

 private:
  friend class AuditScope;
  std::atomic<int64_t> count_{0};
};

// An opened audit record, which is closed exactly once: by close(), or, when whoever had it let go
// without a word (a refusal, an exception, a dropped job), as an error at the end of its life.
// Empty on public rows, which have no record. Any thread, one at a time.
class AuditScope {
 public:
  AuditScope() = default;
  AuditScope(std::unique_ptr<govern::AuditRecord> record, std::shared_ptr<PendingCloses> pending);
  ~AuditScope();
  AuditScope(AuditScope&& other) noexcept = default;
  AuditScope& operator=(AuditScope&& other) noexcept;

  // True while there is a record to close.
  bool open() const noexcept { return record_ != nullptr; }

  // At most once. `durable` (may be empty) is called once, on any thread; on this one, with
  // success, if there is no record.
  void close(const govern::AuditClose& how, std::function<void(const Result<void>&)> durable);

 private:
  void close_unsaid();

  std::unique_ptr<govern::AuditRecord> record_;
  std::shared_ptr<PendingCloses> pending_;
  bool closed_ = false;
};

}  // namespace o3::api
