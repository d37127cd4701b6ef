// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>

#include "base/clock.h"
#include "base/ids.h"

namespace o3::api {

// The series of requests (spec F1). Owned by the registry; any thread. Label values are a closed
// set: nothing a client sends becomes a label.
class RequestMetrics {
 public:
  explicit RequestMetrics(prometheus::Registry& registry);

  void ended(Outcome outcome);  // o3_requests_total: of requests that the engine accepted
  void refused(int status);     // o3_requests_refused_total: of all others
  void first_token(Nanoseconds after_request);
  void tokens(size_t count, Nanoseconds after_previous);
  void request(Nanoseconds duration);
  void unknown_fields(size_t count);

 private:
  std::array<prometheus::Counter*, 5> ended_{};  // by Outcome
  prometheus::Family<prometheus::Counter>& refused_;
  prometheus::Histogram& first_token_;
  prometheus::Histogram& inter_token_;
  prometheus::Histogram& request_;
  prometheus::Counter& unknown_fields_;
};

}  // namespace o3::api
