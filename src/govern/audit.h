// SPDX-License-Identifier: Apache-2.0
// The seam for the audit log: a record is opened before the work and closed after it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "govern/policy.h"

namespace o3::govern {

struct AuditOpen {
  const Principal& principal;
  Action action = Action::kChat;
  std::string model;  // empty: none
  std::string request_id;
  const Decision& decision;
};

struct AuditClose {
  Outcome outcome = Outcome::kStop;
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;
};

class AuditRecord {
 public:
  virtual ~AuditRecord() = default;
  // Called once. `durable` is called once, on any thread, when the record is on stable storage or
  // has failed; the answer's last byte waits for it. The record may be destroyed before that.
  virtual void close(const AuditClose& how, std::function<void(Result<void>)> durable) = 0;
};

class AuditLog {
 public:
  virtual ~AuditLog() = default;
  // Durable on return, so it may block: worker threads only. An error refuses the request.
  virtual Result<std::unique_ptr<AuditRecord>> open(const AuditOpen& what) = 0;
  // A request that policy refused.
  virtual void denied(const AuditOpen& what) noexcept = 0;
};

// Keeps nothing. `serve` says at start that there is no audit log.
class NoAudit final : public AuditLog {
 public:
  Result<std::unique_ptr<AuditRecord>> open(const AuditOpen& what) override;
  void denied(const AuditOpen& what) noexcept override;
};

}  // namespace o3::govern
