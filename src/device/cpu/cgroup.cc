// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/cgroup.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace o3::device::cpu {
namespace {

namespace fs = std::filesystem;

void keep_smallest(std::optional<double>& best, std::optional<double> quota) {
  if (quota && (!best || *quota < *best)) best = quota;
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

// Inside a container the path of proc may name a group that is not mounted; the mount's own root
// then is the group, so the walk always ends there.
std::optional<double> smallest_up(const fs::path& mount, const std::string& group,
                                  std::optional<double> (*read)(const fs::path&)) {
  std::optional<double> best;
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

}  // namespace

std::optional<double> cgroup_cpu_quota(const fs::path& root) {
  std::optional<double> best;
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
      keep_smallest(best, smallest_up(mount, path, quota_v2));
    } else if (has_controller(controllers, "cpu")) {
      keep_smallest(best, smallest_up(mount / "cpu", path, quota_v1));
    }
  }
  return best;
}

}  // namespace o3::device::cpu
