// SPDX-License-Identifier: Apache-2.0
#include "memory/memory_plan.h"

#include <gtest/gtest.h>
#include <random>

namespace gantry {
namespace {

bool overlap_in_time(const MemoryRecord& a, const MemoryRecord& b) {
  return a.first <= b.last && b.first <= a.last;
}
bool overlap_in_memory(const MemoryRecord& a, const MemoryRecord& b) {
  return a.offset < b.offset + b.size_bytes && b.offset < a.offset + a.size_bytes;
}

void expect_disjoint(const std::vector<MemoryRecord>& records) {
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].offset % 64, 0U);
    for (size_t j = 0; j < i; ++j) {
      const bool clash = records[i].space == records[j].space &&
                         overlap_in_time(records[i], records[j]) &&
                         overlap_in_memory(records[i], records[j]);
      ASSERT_FALSE(clash) << "records " << j << " and " << i << " live at once and share memory";
    }
  }
}

TEST(MemoryPlan, AChainNeedsTwoBuffers) {
  std::vector<MemoryRecord> records;
  for (uint32_t step = 0; step < 100; ++step) records.push_back({0, 1000, step, step + 1, 0});
  const std::vector<uint64_t> sizes = pack(records, 1);
  expect_disjoint(records);
  EXPECT_EQ(sizes, std::vector<uint64_t>{2 * 1024});
}

TEST(MemoryPlan, MemoryEndsWithItsLastStepNotBefore) {
  std::vector<MemoryRecord> records = {{0, 64, 0, 3, 0}, {0, 64, 3, 4, 0}, {0, 64, 4, 5, 0}};
  const std::vector<uint64_t> sizes = pack(records, 1);
  EXPECT_NE(records[0].offset, records[1].offset) << "both are in use in step 3";
  EXPECT_EQ(records[0].offset, records[2].offset);
  EXPECT_EQ(sizes[0], 128U);
}

TEST(MemoryPlan, SpacesArePackedApart) {
  std::vector<MemoryRecord> records = {{0, 64, 0, 1, 0}, {1, 640, 0, 1, 0}, {2, 1, 5, 5, 0}};
  EXPECT_EQ(pack(records, 3), (std::vector<uint64_t>{64, 640, 64}));
}

TEST(MemoryPlan, RandomLifetimesNeverClashAndStayCompact) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    std::vector<MemoryRecord> records;
    uint64_t total = 0;
    for (uint32_t i = 0; i < 200; ++i) {
      const uint32_t first = random() % 100;
      const uint64_t size = random() % 5000;
      total += size;
      records.push_back({0, size, first, first + static_cast<uint32_t>(random() % 10), 0});
    }
    const std::vector<uint64_t> sizes = pack(records, 1);
    expect_disjoint(records);
    EXPECT_LT(sizes[0], total / 4) << "memory is hardly reused";
  }
}

}  // namespace
}  // namespace gantry
