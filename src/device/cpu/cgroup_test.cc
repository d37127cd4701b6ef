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

}  // namespace
}  // namespace o3::device::cpu
