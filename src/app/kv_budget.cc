// SPDX-License-Identifier: Apache-2.0
#include "app/kv_budget.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "cache/cache_spec.h"

namespace o3::app {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

// "MemAvailable:  123 kB" of /proc/meminfo, in bytes; 0 when unreadable.
int64_t available_memory() {
  std::ifstream meminfo("/proc/meminfo");
  std::string key;
  int64_t kilobytes = 0;
  std::string unit;
  while (meminfo >> key >> kilobytes) {
    std::getline(meminfo, unit);
    if (key == "MemAvailable:") return kilobytes * 1024;
  }
  return 0;
}

// Room below the cgroup v2 limit, or "unlimited".
int64_t cgroup_room() {
  int64_t limit = 0;
  int64_t used = 0;
  std::ifstream limit_file("/sys/fs/cgroup/memory.max");
  std::ifstream used_file("/sys/fs/cgroup/memory.current");
  if ((limit_file >> limit) && (used_file >> used)) return std::max<int64_t>(0, limit - used);
  return std::numeric_limits<int64_t>::max();
}

}  // namespace

int64_t kv_bytes_for(const model::Model& model, int32_t page_tokens, int64_t tokens) {
  const auto layout = cache::make_page_layout(model.cache_specs(), page_tokens);
  if (!layout.ok()) return 0;  // the engine refuses the same layout with its message
  int64_t pages = 0;
  for (const auto& group : layout->groups)
    pages += (tokens + group.page_tokens - 1) / group.page_tokens;
  return pages * layout->page_bytes;
}

int64_t default_kv_bytes(const model::Model& model, int32_t page_tokens) {
  const int64_t free_bytes = std::min(available_memory(), cgroup_room());
  const int64_t one_context = kv_bytes_for(model, page_tokens, model.config().context);
  return std::max(one_context, std::min(kGiB, free_bytes / 4));
}

}  // namespace o3::app
