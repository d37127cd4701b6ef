// SPDX-License-Identifier: Apache-2.0
// What the control groups of this process allow it (containers, systemd slices). Both versions are
// read, the process's group and its ancestors: each may have a limit. `root` is "/" but in tests:
// it holds proc/self/cgroup and sys/fs/cgroup.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace o3::device::cpu {

// The smallest quota, in CPUs (1.5 = one and a half); nothing when there is no limit or none can be
// read.
std::optional<double> cgroup_cpu_quota(const std::filesystem::path& root);

// The least room between a group's limit and its use, in bytes (0: none is left). Cached file pages
// that nobody has used lately do not count as used, because the kernel drops them first.
std::optional<int64_t> cgroup_memory_room(const std::filesystem::path& root);

}  // namespace o3::device::cpu
