// SPDX-License-Identifier: Apache-2.0
#include "memory/arena.h"

#include <gtest/gtest.h>

#include "memory/memory_pool.h"

namespace gantry {
namespace {

class ArenaTest : public testing::Test {
 protected:
  static constexpr uint64_t kKiB = 1024;

  /// Where the arena of so many bytes begins, which lends from now on.
  std::byte* lending(uint64_t size_bytes) {
    std::byte* begin = arena_.reserve(size_bytes);
    arena_.start_lending();
    return begin;
  }

  Arena arena_{MemorySpace()};
};

TEST_F(ArenaTest, LendsNothingWhileAPlanHasIt) {
  arena_.reserve(64 * kKiB);
  EXPECT_EQ(arena_.lend(1 * kKiB), nullptr);
}

TEST_F(ArenaTest, LendsPartsThatDoNotOverlapUntilItIsFull) {
  std::byte* begin = lending(4 * kKiB);
  void* first = arena_.lend(1 * kKiB);
  void* second = arena_.lend(3 * kKiB - 1);  // rounded up to where the next tensor may begin
  EXPECT_EQ(first, begin);
  EXPECT_EQ(second, begin + 1 * kKiB);
  EXPECT_EQ(arena_.lend(1), nullptr);
  arena_.take_back(first, 1 * kKiB);
  EXPECT_EQ(arena_.lend(2 * kKiB), nullptr);
  EXPECT_EQ(arena_.lend(1 * kKiB), begin);
  arena_.take_back(begin, 1 * kKiB);
  arena_.take_back(second, 3 * kKiB - 1);
  EXPECT_EQ(arena_.lend(4 * kKiB), begin);  // what is free is one range again
  arena_.take_back(begin, 4 * kKiB);
}

TEST_F(ArenaTest, AnEmptyOneLendsNothing) {
  arena_.start_lending();
  EXPECT_EQ(arena_.lend(0), nullptr);
  EXPECT_EQ(arena_.lend(UINT64_MAX), nullptr);
}

TEST_F(ArenaTest, APoolAsksItFirst) {
  std::byte* begin = lending(1024 * kKiB);
  MemoryPool pool(MemorySpace(), nullptr, &arena_);
  Block* lent = pool.allocate(1000 * kKiB);
  EXPECT_EQ(lent->data, begin);
  EXPECT_EQ(pool.held_bytes(), 0U);
  Block* own = pool.allocate(100 * kKiB);
  EXPECT_GE(pool.held_bytes(), 100 * kKiB);
  EXPECT_TRUE(pool.release(lent));
  EXPECT_TRUE(pool.release(own));
  pool.trim();
  EXPECT_EQ(pool.held_bytes(), 0U);
  Block* again = pool.allocate(1024 * kKiB);
  EXPECT_EQ(again->data, begin);
  pool.release(again);
  arena_.reserve(1024 * kKiB);  // a plan has it: nothing is lent
  EXPECT_NE(pool.allocate(1 * kKiB)->data, begin);
}

}  // namespace
}  // namespace gantry
