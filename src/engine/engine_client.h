// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/result.h"
#include "engine/request.h"

namespace o3::engine {

struct InstanceInfo {
  int32_t context = 0;  // most positions of one sequence: the model's, or what the pool can hold
  int32_t vocabulary = 0;
};

// The engine as its users see it; tests put a fake here. Any thread.
class EngineClient {
 public:
  virtual ~EngineClient() = default;

  // Accepted (ok): exactly one Finish will be delivered to the sink. Refused: kInvalid, kTooLong
  // (can never fit), kNotFound (no such instance), kUnsupported (kind of work), kConflict (the id
  // is in use), kExhausted (queue full), kUnavailable (draining, or the backend failed); nothing
  // is delivered.
  virtual Result<void> submit(std::shared_ptr<const Request> request,
                              std::shared_ptr<DeltaSink> sink) = 0;

  // Takes effect within one step; unknown or finished ids are ignored.
  virtual void cancel(RequestId id) noexcept = 0;

  virtual InstanceInfo instance(InstanceId id) const = 0;  // zeros when there is no such instance
  virtual bool ready() const noexcept = 0;  // accepts work and the backend is healthy
};

}  // namespace o3::engine
