// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/cgroup.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace o3::device::cpu {
namespace {

namespace fs = std::filesystem;

class CgroupQuota : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("o3_cgroup_" + std::to_string(getpid()));
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void put(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  fs::path root_;
};

TEST_F(CgroupQuota, NoneWithoutFiles) {
  EXPECT_FALSE(cgroup_cpu_quota(root_).has_value());
}

TEST_F(CgroupQuota, TightestAncestorOfV2) {
  put("proc/self/cgroup", "0::/a/b\n");
  put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  put("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  put("sys/fs/cgroup/cpu.max", "400000 100000\n");
  EXPECT_EQ(cgroup_cpu_quota(root_), 1.5);
}

TEST_F(CgroupQuota, GroupOutsideTheMountFallsBackToItsRoot) {
  put("proc/self/cgroup", "0::/../other\n");
  put("sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(cgroup_cpu_quota(root_), 2.0);
}

TEST_F(CgroupQuota, V1) {
  put("proc/self/cgroup", "5:memory:/x\n4:cpu,cpuacct:/x\n");
  put("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "50000\n");
  put("sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
  put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_cpu_quota(root_), 0.5);
}

TEST_F(CgroupQuota, NonsenseIsNoLimit) {
  put("proc/self/cgroup", "broken\n0::/\n");
  put("sys/fs/cgroup/cpu.max", "lots of it\n");
  EXPECT_FALSE(cgroup_cpu_quota(root_).has_value());
}

using CgroupMemory = CgroupQuota;

TEST_F(CgroupMemory, NoneWithoutFilesOrLimit) {
  EXPECT_FALSE(cgroup_memory_room(root_).has_value());
  put("proc/self/cgroup", "0::/a\n");
  put("sys/fs/cgroup/a/memory.max", "max\n");
  put("sys/fs/cgroup/a/memory.current", "1000\n");
  EXPECT_FALSE(cgroup_memory_room(root_).has_value());
}

TEST_F(CgroupMemory, TightestAncestorOfV2) {
  put("proc/self/cgroup", "0::/system.slice/o3.service\n");
  put("sys/fs/cgroup/system.slice/o3.service/memory.max", "9000\n");
  put("sys/fs/cgroup/system.slice/o3.service/memory.current", "1000\n");
  put("sys/fs/cgroup/system.slice/memory.max", "6000\n");
  put("sys/fs/cgroup/system.slice/memory.current", "2000\n");
  put("sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(cgroup_memory_room(root_), 4000);
  put("sys/fs/cgroup/system.slice/memory.stat", "anon 500\nfile 1500\ninactive_file 700\n");
  EXPECT_EQ(cgroup_memory_room(root_), 4700) << "idle file pages are given back first";
  put("sys/fs/cgroup/system.slice/memory.current", "9000\n");
  EXPECT_EQ(cgroup_memory_room(root_), 0) << "over its limit";
}

TEST_F(CgroupMemory, V1) {
  put("proc/self/cgroup", "5:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n");
  put("sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "5000\n");
  put("sys/fs/cgroup/memory/docker/x/memory.usage_in_bytes", "1500\n");
  put("sys/fs/cgroup/memory/docker/x/memory.stat", "cache 9\ntotal_inactive_file 250\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  put("sys/fs/cgroup/memory/memory.usage_in_bytes", "4000\n");
  EXPECT_EQ(cgroup_memory_room(root_), 3750);
}

TEST_F(CgroupMemory, NonsenseIsNoLimit) {
  put("proc/self/cgroup", "0::/\n");
  put("sys/fs/cgroup/memory.max", "-5\n");
  put("sys/fs/cgroup/memory.current", "1\n");
  EXPECT_FALSE(cgroup_memory_room(root_).has_value());
}

}  // namespace
}  // namespace o3::device::cpu
