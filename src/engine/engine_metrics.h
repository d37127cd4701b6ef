// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

namespace o3::engine {

// The engine's own series (spec F1). Owned by the registry; this struct only names them.
// Request-level latencies (time to first token, inter-token, whole request) are the api's.
struct EngineMetrics {
  explicit EngineMetrics(prometheus::Registry& registry);

  prometheus::Gauge& requests_running;  // o3_requests_running
  prometheus::Gauge& requests_waiting;  // o3_requests_waiting
  prometheus::Gauge& kv_blocks_used;    // o3_kv_blocks_used
  prometheus::Gauge& kv_blocks_cached;  // o3_kv_blocks_cached
  prometheus::Gauge& kv_blocks_total;   // o3_kv_blocks_total
  prometheus::Gauge& kv_fragmentation;  // o3_kv_fragmentation
  prometheus::Counter& prompt_tokens;   // o3_tokens_total{kind="prompt"}
  prometheus::Counter& cached_tokens;   // o3_tokens_total{kind="cached"}
  prometheus::Counter& output_tokens;   // o3_tokens_total{kind="output"}
  prometheus::Counter& preemptions;     // o3_preemptions_total
};

}  // namespace o3::engine
