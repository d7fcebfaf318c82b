// SPDX-License-Identifier: Apache-2.0
#include "base/linux_state.h"

#include <gtest/gtest.h>

#include "temp_folder.h"

namespace gantry {
namespace {

TEST(LinuxState, AreWhatTheKernelCounts) {
  test::TempFolder proc;
  proc.write("sys/kernel/random/boot_id", "0b00-1\n");
  proc.write("vmstat", "nr_free_pages 7\noom_kill 12\ndrop_pagecache 0\n");
  const LinuxState state = linux_state(proc.path(""));
  EXPECT_EQ(state.boot, "0b00-1");
  EXPECT_EQ(state.memory_kills, 12);
}

TEST(LinuxState, AreNotKnownWithoutItsFiles) {
  const LinuxState state = linux_state("/nowhere");
  EXPECT_TRUE(state.boot.empty());
  EXPECT_FALSE(state.memory_kills.has_value());
}

}  // namespace
}  // namespace gantry
