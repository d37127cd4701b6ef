// SPDX-License-Identifier: Apache-2.0
#include "app/memory_check.h"

#include <string>

namespace o3::app {
namespace {

std::string mib(int64_t bytes) {
  return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB";
}

}  // namespace

Result<void> check_memory(const model::Footprint& footprint, const model::PlanQuery& query,
                          int64_t kv_bytes, std::optional<int64_t> free_bytes) {
  if (!free_bytes) return {};
  O3_ASSIGN(const model::MemoryPlan plan, model::plan_memory(footprint, query));
  const int64_t fixed = plan.total() - plan.kv;
  // At least one page of each group: what one token takes.
  model::PlanQuery least = query;
  least.sequences = 1;
  least.context = 1;
  O3_ASSIGN(const model::MemoryPlan smallest, model::plan_memory(footprint, least));
  if (fixed + smallest.kv > *free_bytes) {
    return Error{Code::kExhausted,
                 "the model takes " + mib(plan.weights + plan.embedding) + " of weights and " +
                     mib(plan.workspace + plan.logits) + " of workspace, but " + mib(*free_bytes) +
                     " of memory are free; a smaller model or weight type would fit",
                 "models"};
  }
  if (fixed + kv_bytes <= *free_bytes) return {};
  return Error{Code::kExhausted,
               "a KV cache of " + mib(kv_bytes) + " does not fit beside " + mib(fixed) +
                   " of weights and workspace: " + mib(*free_bytes) + " are free, so it can have " +
                   std::to_string((*free_bytes - fixed) >> 20) + "MiB at most",
               "memory"};
}

}  // namespace o3::app
