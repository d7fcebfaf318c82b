// SPDX-License-Identifier: Apache-2.0
#include "base/kernel_facts.h"

#include <gtest/gtest.h>

#include "temp_folder.h"

namespace gantry {
namespace {

TEST(KernelFacts, AreWhatTheKernelCounts) {
  test::TempFolder proc;
  proc.write("sys/kernel/random/boot_id", "0b00-1\n");
  proc.write("vmstat", "nr_free_pages 7\noom_kill 12\ndrop_pagecache 0\n");
  const KernelFacts facts = kernel_facts(proc.path(""));
  EXPECT_EQ(facts.boot, "0b00-1");
  EXPECT_EQ(facts.memory_kills, 12);
}

TEST(KernelFacts, AreNotKnownWithoutItsFiles) {
  const KernelFacts facts = kernel_facts("/nowhere");
  EXPECT_TRUE(facts.boot.empty());
  EXPECT_FALSE(facts.memory_kills.has_value());
}

}  // namespace
}  // namespace gantry
