// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/cgroup.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>

namespace o3::device::cpu {
namespace {

namespace fs = std::filesystem;

template <class T>
void keep_smallest(std::optional<T>& best, std::optional<T> found) {
  if (found && (!best || *found < *best)) best = found;
}

// v2: "max 100000" or "150000 100000" (microseconds of CPU time per period).
std::optional<double> quota_v2(const fs::path& group) {
  std::ifstream file(group / "cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(quota.c_str(), &end);
  if (end == quota.c_str() || value <= 0) return std::nullopt;
  return value / period;
}

// v1: two files; a quota of -1 means none.
std::optional<double> quota_v1(const fs::path& group) {
  std::ifstream quota_file(group / "cpu.cfs_quota_us");
  std::ifstream period_file(group / "cpu.cfs_period_us");
  double quota = 0;
  double period = 0;
  if (!(quota_file >> quota) || !(period_file >> period)) return std::nullopt;
  if (quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

std::optional<int64_t> number_in(const fs::path& path) {
  std::ifstream file(path);
  int64_t value = 0;
  if (!(file >> value)) return std::nullopt;  // "max" too
  return value;
}

// The value of a line "name value" of memory.stat; 0 when there is none.
int64_t stat_in(const fs::path& path, std::string_view name) {
  std::ifstream file(path);
  std::string key;
  int64_t value = 0;
  while (file >> key >> value) {
    if (key == name) return value;
  }
  return 0;
}

struct MemoryFiles {
  const char* limit;
  const char* used;
  const char* idle_cache;  // row of memory.stat
};

std::optional<int64_t> memory_room(const fs::path& group, const MemoryFiles& files) {
  const auto limit = number_in(group / files.limit);
  const auto used = number_in(group / files.used);
  if (!limit || !used || *limit < 0 || *used < 0) return std::nullopt;
  const int64_t cache =
      std::clamp<int64_t>(stat_in(group / "memory.stat", files.idle_cache), 0, *used);
  return std::max<int64_t>(0, *limit - (*used - cache));
}
std::optional<int64_t> room_v2(const fs::path& group) {
  return memory_room(group, {"memory.max", "memory.current", "inactive_file"});
}
// "No limit" of v1 is a number near 2^63, which leaves more room than any machine has.
std::optional<int64_t> room_v1(const fs::path& group) {
  return memory_room(group,
                     {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"});
}

// Inside a container the path of proc may name a group that is not mounted; the mount's own root
// then is the group, so the walk always ends there.
template <class T>
std::optional<T> smallest_up(const fs::path& mount, const std::string& group,
                             std::optional<T> (*read)(const fs::path&)) {
  std::optional<T> best;
  fs::path relative = fs::path(group).relative_path();
  while (true) {
    keep_smallest(best, read(mount / relative));
    if (relative.empty()) return best;
    relative = relative.parent_path();
  }
}

bool has_controller(const std::string& list, const std::string& name) {
  return ("," + list + ",").find("," + name + ",") != std::string::npos;
}

// The smallest value that a reader finds in any group of the process. `controller` is v1's, mounted
// under that name.
template <class T>
std::optional<T> smallest(const fs::path& root, const std::string& controller,
                          std::optional<T> (*read_v2)(const fs::path&),
                          std::optional<T> (*read_v1)(const fs::path&)) {
  std::optional<T> best;
  std::ifstream groups(root / "proc/self/cgroup");
  const fs::path mount = root / "sys/fs/cgroup";
  std::string line;  // "hierarchy:controllers:path"; v2 has an empty controller list
  while (std::getline(groups, line)) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      keep_smallest(best, smallest_up(mount, path, read_v2));
    } else if (has_controller(controllers, controller)) {
      keep_smallest(best, smallest_up(mount / controller, path, read_v1));
    }
  }
  return best;
}

}  // namespace

std::optional<double> cgroup_cpu_quota(const fs::path& root) {
  return smallest<double>(root, "cpu", quota_v2, quota_v1);
}

std::optional<int64_t> cgroup_memory_room(const fs::path& root) {
  return smallest<int64_t>(root, "memory", room_v2, room_v1);
}

}  // namespace o3::device::cpu
