// SPDX-License-Identifier: Apache-2.0
#include "api/request_metrics.h"

#include <string>

namespace o3::api {
namespace {

using prometheus::Histogram;

// Seconds. Fine where a service-level objective is likely to sit.
const Histogram::BucketBoundaries kFirstToken{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08,
                                              0.1,   0.15,  0.25, 0.5,  0.75, 1,    2,
                                              5,     10,    20,   40,   80,   160};
const Histogram::BucketBoundaries kInterToken{0.001, 0.0025, 0.005, 0.01,  0.015, 0.02, 0.025,
                                              0.03,  0.04,   0.05,  0.075, 0.1,   0.15, 0.2,
                                              0.3,   0.5,    1,     2.5,   5};
const Histogram::BucketBoundaries kRequest{0.01, 0.05, 0.1, 0.25, 0.5, 1,   1.5, 2,   2.5, 5,
                                           10,   15,   20,  30,   60,  120, 240, 480, 960};

double seconds(Nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

Histogram& histogram(prometheus::Registry& registry, const char* name, const char* help,
                     const Histogram::BucketBoundaries& buckets) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, buckets);
}

}  // namespace

RequestMetrics::RequestMetrics(prometheus::Registry& registry)
    : refused_(prometheus::BuildCounter()
                   .Name("o3_requests_refused_total")
                   .Help("Requests answered without reaching the engine, by HTTP status")
                   .Register(registry)),
      first_token_(histogram(registry, "o3_time_to_first_token_seconds",
                             "From the end of a request's head to its first token", kFirstToken)),
      inter_token_(histogram(registry, "o3_inter_token_seconds",
                             "Between two tokens of one request", kInterToken)),
      request_(histogram(registry, "o3_request_seconds",
                         "From the end of a request's head to the end of its work", kRequest)),
      unknown_fields_(prometheus::BuildCounter()
                          .Name("o3_unknown_fields_total")
                          .Help("Request fields that were not understood and were ignored")
                          .Register(registry)
                          .Add({})) {
  auto& outcomes = prometheus::BuildCounter()
                       .Name("o3_requests_total")
                       .Help("Requests that the engine accepted, by how they ended")
                       .Register(registry);
  constexpr std::array kNames{"stop", "length", "cancelled", "deadline", "error"};
  static_assert(kNames.size() == static_cast<size_t>(Outcome::kError) + 1);
  for (size_t i = 0; i < kNames.size(); ++i) ended_[i] = &outcomes.Add({{"outcome", kNames[i]}});
}

void RequestMetrics::ended(Outcome outcome) {
  ended_[static_cast<size_t>(outcome)]->Increment();
}

void RequestMetrics::refused(int status) {
  refused_.Add({{"status", std::to_string(status)}}).Increment();
}

void RequestMetrics::first_token(Nanoseconds after_request) {
  first_token_.Observe(seconds(after_request));
}

void RequestMetrics::tokens(size_t count, Nanoseconds after_previous) {
  const double each = seconds(after_previous) / static_cast<double>(count);
  for (size_t i = 0; i < count; ++i) inter_token_.Observe(each);
}

void RequestMetrics::request(Nanoseconds duration) {
  request_.Observe(seconds(duration));
}

void RequestMetrics::unknown_fields(size_t count) {
  unknown_fields_.Increment(static_cast<double>(count));
}

}  // namespace o3::api
