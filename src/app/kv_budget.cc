// SPDX-License-Identifier: Apache-2.0
#include "app/kv_budget.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "base/log.h"
#include "cache/cache_spec.h"
#include "device/cpu/cgroup.h"

namespace o3::app {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kGiB = int64_t{1} << 30;

// "MemAvailable:  123 kB", in bytes.
std::optional<int64_t> available_memory(const std::filesystem::path& meminfo) {
  std::ifstream file(meminfo);
  std::string key;
  int64_t kilobytes = 0;
  std::string unit;
  while (file >> key >> kilobytes) {
    std::getline(file, unit);
    if (key == "MemAvailable:") return kilobytes * 1024;
  }
  return std::nullopt;
}

}  // namespace

int64_t kv_bytes_for(const model::Model& model, int32_t page_tokens, int64_t tokens) {
  const auto layout = cache::make_page_layout(model.cache_specs(), page_tokens);
  if (!layout.ok()) return 0;  // the engine refuses the same layout with its message
  return cache::pages_for(*layout, tokens) * layout->page_bytes;
}

std::optional<int64_t> free_memory(const std::filesystem::path& root) {
  const auto machine = available_memory(root / "proc/meminfo");
  const auto group = device::cpu::cgroup_memory_room(root);
  if (!machine || !group) return machine ? machine : group;
  return std::min(*machine, *group);
}

int64_t choose_kv_bytes(int64_t one_context, std::optional<int64_t> free_bytes) {
  if (!free_bytes) return std::max(one_context, kGiB);
  const int64_t wanted = std::max(one_context, std::min(kGiB, *free_bytes / 4));
  return std::min(wanted, *free_bytes / 4 * 3);
}

int64_t choose_device_kv_bytes(int64_t free_bytes) {
  return free_bytes / 5 * 4;
}

int64_t default_kv_bytes(const model::Model& model, int32_t page_tokens,
                         const device::Backend& backend, int64_t models) {
  if (const auto device_bytes = backend.free_bytes()) {
    return choose_device_kv_bytes(*device_bytes / models);
  }
  auto free_bytes = free_memory("/");
  if (free_bytes) *free_bytes /= models;
  const int64_t one_context = kv_bytes_for(model, page_tokens, model.config().context);
  const int64_t chosen = choose_kv_bytes(one_context, free_bytes);
  if (chosen < one_context) {
    log::warn(
        "the model's whole context needs {} MiB of KV memory, but {} MiB of memory are free: the "
        "pool gets {} MiB, and requests a shorter context (--memory sets the size)",
        one_context / kMiB, free_bytes.value_or(0) / kMiB, chosen / kMiB);
  }
  return chosen;
}

}  // namespace o3::app
