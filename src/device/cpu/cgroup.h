// SPDX-License-Identifier: Apache-2.0
// How much CPU time the control group of this process may use (containers, systemd slices).
#pragma once

#include <filesystem>
#include <optional>

namespace o3::device::cpu {

// The smallest quota of the process's group and its ancestors, in CPUs (1.5 = one and a half);
// nothing when there is no limit or none can be read. Reads cgroup v2 (cpu.max) and v1
// (cpu.cfs_quota_us). `root` is "/" but in tests: it holds proc/self/cgroup and sys/fs/cgroup.
std::optional<double> cgroup_cpu_quota(const std::filesystem::path& root);

}  // namespace o3::device::cpu
