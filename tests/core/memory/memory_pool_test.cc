// SPDX-License-Identifier: Apache-2.0
#include "memory/memory_pool.h"

#include <gtest/gtest.h>

namespace gantry {
namespace {

constexpr uint64_t kKiB = 1024;

class MemoryPoolTest : public testing::Test {
 protected:
  // A block that is free again.
  void* used_block(uint64_t size_bytes) {
    Block* block = pool_.allocate(size_bytes);
    void* data = block->data;
    pool_.release(block);
    return data;
  }

  MemoryPool pool_{MemorySpace()};
};

TEST_F(MemoryPoolTest, ALargerBlockServesWhereNewPagesWouldBeNeeded) {
  void* used = used_block(1024 * kKiB);
  const uint64_t held = pool_.held_bytes();
  Block* block = pool_.allocate(200 * kKiB);
  EXPECT_EQ(block->data, used);
  EXPECT_EQ(block->size_bytes, 1024 * kKiB);
  EXPECT_EQ(pool_.held_bytes(), held);
  pool_.release(block);
  EXPECT_EQ(pool_.allocate(1024 * kKiB)->data, used);  // and is whole again
}

TEST_F(MemoryPoolTest, TheSmallestThatIsLargeEnoughServes) {
  used_block(1024 * kKiB);
  void* smaller = used_block(512 * kKiB);
  EXPECT_EQ(pool_.allocate(300 * kKiB)->data, smaller);
}

TEST_F(MemoryPoolTest, AMuchLargerBlockIsKeptForLargerRequests) {
  void* used = used_block(4096 * kKiB);
  EXPECT_NE(pool_.allocate(100 * kKiB)->data, used);
  EXPECT_NE(pool_.allocate(2 * kKiB)->data, used);
  EXPECT_EQ(pool_.allocate(4096 * kKiB)->data, used);
}

}  // namespace
}  // namespace gantry
