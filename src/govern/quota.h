// SPDX-License-Identifier: Apache-2.0
// The seam for limits per tenant (requests, tokens, concurrency): reserve before the work, settle
// with what it really took. The gate calls it for every request.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "govern/policy.h"

namespace o3::govern {

// A place taken under the principal's limits; the destructor gives back what was not settled.
class QuotaLease {
 public:
  virtual ~QuotaLease() = default;
  // Once the prompt is tokenised: the most the request can take. kExhausted: over the limit.
  virtual Result<void> reserve_tokens(int64_t prompt, int64_t most_new) = 0;
  // What it took; called at most once, also for cancelled requests.
  virtual void settle(int64_t prompt, int64_t completion) noexcept = 0;
};

class Quota {
 public:
  virtual ~Quota() = default;
  // kExhausted: over the limit now. Any thread.
  virtual Result<std::unique_ptr<QuotaLease>> reserve(const Principal& principal,
                                                      Action action) = 0;
};

// No limits.
class UnlimitedQuota final : public Quota {
 public:
  Result<std::unique_ptr<QuotaLease>> reserve(const Principal& principal, Action action) override;
};

}  // namespace o3::govern
