// SPDX-License-Identifier: Apache-2.0
#include "engine/engine_metrics.h"

namespace o3::engine {
namespace {

prometheus::Gauge& gauge(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Counter& tokens(prometheus::Registry& registry, const char* kind) {
  return prometheus::BuildCounter()
      .Name("o3_tokens_total")
      .Help(
          "Tokens: of prompts computed (prompt), of prompts found in the KV cache (cached), "
          "sampled (output)")
      .Register(registry)
      .Add({{"kind", kind}});
}

}  // namespace

EngineMetrics::EngineMetrics(prometheus::Registry& registry)
    : requests_running(gauge(registry, "o3_requests_running", "Requests that take part in steps")),
      requests_waiting(gauge(registry, "o3_requests_waiting", "Accepted requests not started yet")),
      kv_blocks_used(gauge(registry, "o3_kv_blocks_used", "KV pages leased to sequences")),
      kv_blocks_cached(gauge(registry, "o3_kv_blocks_cached",
                             "KV pages of known prefixes that no sequence uses now; they are given "
                             "up when sequences need them")),
      kv_blocks_total(gauge(registry, "o3_kv_blocks_total", "KV pages of the pool")),
      kv_fragmentation(gauge(registry, "o3_kv_fragmentation",
                             "Part of the leased KV slots that holds no token, 0 to 1, averaged "
                             "over time since the start")),
      prompt_tokens(tokens(registry, "prompt")),
      cached_tokens(tokens(registry, "cached")),
      output_tokens(tokens(registry, "output")),
      preemptions(prometheus::BuildCounter()
                      .Name("o3_preemptions_total")
                      .Help("Requests that gave up their KV pages to others and compute them again")
                      .Register(registry)
                      .Add({})) {}

}  // namespace o3::engine
