// SPDX-License-Identifier: Apache-2.0
#include "base/cpu_quota.h"

#include <gtest/gtest.h>

#include "temp_folder.h"

namespace gantry {
namespace {

TEST(CpuQuota, IsTheLeastOfTheGroupsAboveAProcess) {
  test::TempFolder folder;
  folder.write("cpu.max", "max 100000\n");
  folder.write("pods/cpu.max", "150000 100000\n");
  folder.write("pods/one/cpu.max", "400000 100000\n");
  EXPECT_EQ(cpu_quota("0::/pods/one\n", folder.path("")), 1.5);
  EXPECT_EQ(cpu_quota("0::/\n", folder.path("")), std::nullopt);
  EXPECT_EQ(cpu_quota("0::/elsewhere/../..\n", folder.path("")), std::nullopt);
}

// A container whose group is the root of what it sees.
TEST(CpuQuota, OfTheRoot) {
  test::TempFolder folder;
  folder.write("cpu.max", "50000 100000\n");
  EXPECT_EQ(cpu_quota("0::/\n", folder.path("")), 0.5);
  EXPECT_EQ(cpu_quota("0::/system.slice/x.scope", folder.path("")), 0.5);
}

TEST(CpuQuota, OfTheFirstVersion) {
  test::TempFolder folder;
  folder.write("cpu,cpuacct/docker/cpu.cfs_quota_us", "200000\n");
  folder.write("cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n");
  folder.write("cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  folder.write("cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpu_quota("5:cpuset:/docker\n4:cpu,cpuacct:/docker\n", folder.path("")), 2);
  EXPECT_EQ(cpu_quota("5:cpuset:/docker\n", folder.path("")), std::nullopt);
}

TEST(CpuQuota, OfTextThatIsNone) {
  test::TempFolder folder;
  for (const char* text : {"", "\n", ":", "0:", "x", "0::", "1:cpu:", "::::"})
    EXPECT_EQ(cpu_quota(text, folder.path("")), std::nullopt) << text;
}

}  // namespace
}  // namespace gantry
