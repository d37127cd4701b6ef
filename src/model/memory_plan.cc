// SPDX-License-Identifier: Apache-2.0
#include "model/memory_plan.h"

#include <vector>

#include "cache/cache_spec.h"

namespace o3::model {
namespace {

constexpr int64_t kMostSequences = 65536;  // the engine's bound

Result<cache::PageLayout> layout_of(const Footprint& footprint, int32_t page_tokens) {
  std::vector<cache::CacheSpec> layers;
  for (const KvFootprint& row : footprint.kv) {
    layers.insert(layers.end(), static_cast<size_t>(row.layers), row.spec);
  }
  return cache::make_page_layout(layers, page_tokens);
}

// The largest value of [1, most] for which `fits`, which holds for all smaller ones as well.
template <class Fits>
std::optional<int64_t> largest(int64_t most, const Fits& fits) {
  int64_t good = 0;
  int64_t bad = most + 1;
  while (bad - good > 1) {
    const int64_t middle = good + (bad - good) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  return good > 0 ? std::optional(good) : std::nullopt;
}

bool holds(const Footprint& footprint, const PlanQuery& query, int64_t bytes) {
  const auto plan = plan_memory(footprint, query);
  return plan.ok() && plan->total() <= bytes;
}

}  // namespace

Result<MemoryPlan> plan_memory(const Footprint& footprint, const PlanQuery& query) {
  O3_ASSIGN(const cache::PageLayout layout, layout_of(footprint, query.page_tokens));
  const int64_t context = query.context > 0 ? query.context : footprint.config.context;
  const int64_t logit_rows = query.sequences + query.scored_rows;
  return MemoryPlan{.weights = footprint.weight_bytes,
                    .embedding = footprint.embedding_bytes,
                    .kv = query.sequences * cache::pages_for(layout, context) * layout.page_bytes,
                    .workspace = footprint.workspace_bytes(query.step_rows, logit_rows),
                    .logits = footprint.logit_bytes(logit_rows)};
}

std::optional<int64_t> most_sequences(const Footprint& footprint, PlanQuery query, int64_t bytes) {
  return largest(kMostSequences, [&](int64_t sequences) {
    query.sequences = sequences;
    return holds(footprint, query, bytes);
  });
}

std::optional<int64_t> longest_context(const Footprint& footprint, PlanQuery query, int64_t bytes) {
  return largest(footprint.config.context, [&](int64_t context) {
    query.context = context;
    return holds(footprint, query, bytes);
  });
}

}  // namespace o3::model
