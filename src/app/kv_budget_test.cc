// SPDX-License-Identifier: Apache-2.0
#include "app/kv_budget.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace o3::app {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kGiB = int64_t{1} << 30;

TEST(KvBudget, IsAQuarterOfTheFreeMemoryButOneContextAtLeast) {
  EXPECT_EQ(choose_kv_bytes(100 * kMiB, 2 * kGiB), 512 * kMiB);
  EXPECT_EQ(choose_kv_bytes(100 * kMiB, 64 * kGiB), kGiB);
  EXPECT_EQ(choose_kv_bytes(900 * kMiB, 2 * kGiB), 900 * kMiB);
  EXPECT_EQ(choose_kv_bytes(5 * kGiB, 64 * kGiB), 5 * kGiB);
}

TEST(KvBudget, NeverTakesWhatIsNotThere) {
  EXPECT_EQ(choose_kv_bytes(5 * kGiB, 4 * kGiB), 3 * kGiB);
  EXPECT_EQ(choose_kv_bytes(5 * kGiB, 0), 0);
}

TEST(KvBudget, WithoutKnowingTheFreeMemory) {
  EXPECT_EQ(choose_kv_bytes(100 * kMiB, std::nullopt), kGiB);
  EXPECT_EQ(choose_kv_bytes(5 * kGiB, std::nullopt), 5 * kGiB);
}

TEST(FreeMemory, IsTheMachinesWithinTheGroupsLimits) {
  const fs::path root = fs::temp_directory_path() / ("o3_memory_" + std::to_string(getpid()));
  fs::remove_all(root);
  const auto put = [&](const std::string& path, const std::string& text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  };
  EXPECT_EQ(free_memory(root), std::nullopt);
  put("proc/meminfo", "MemTotal:  9000 kB\nMemFree: 100 kB\nMemAvailable:    8000 kB\n");
  EXPECT_EQ(free_memory(root), 8000 * 1024);
  put("proc/self/cgroup", "0::/a.slice/b.service\n");
  put("sys/fs/cgroup/a.slice/memory.max", "4096000\n");
  put("sys/fs/cgroup/a.slice/memory.current", "1000000\n");
  EXPECT_EQ(free_memory(root), 3096000) << "the limit of a slice above";
  fs::remove_all(root);
}

}  // namespace
}  // namespace o3::app
