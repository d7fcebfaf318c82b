// SPDX-License-Identifier: Apache-2.0
#include "memory/memory_space.h"

#include <cstring>
#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace gantry {
namespace {

using test::expect_error;

MemorySpace host_of(const std::shared_ptr<MemoryBudget>& budget) {
  return {"host memory", nullptr, nullptr, nullptr, budget};
}

TEST(MemoryBudget, TakesUpToItsLimit) {
  MemoryBudget budget(100);
  EXPECT_TRUE(budget.take(60));
  EXPECT_FALSE(budget.take(41));
  EXPECT_EQ(budget.used(), 60U);
  EXPECT_TRUE(budget.take(40));
  budget.give(100);
  EXPECT_EQ(budget.used(), 0U);
  EXPECT_FALSE(budget.take(UINT64_MAX));
}

TEST(MemorySpace, CountsWhatItGives) {
  const auto budget = std::make_shared<MemoryBudget>();
  const MemorySpace space = host_of(budget);
  void* memory = space.allocate(1000);
  std::memset(memory, 1, 1000);
  EXPECT_EQ(space.used(), 1000U);
  EXPECT_EQ(budget->used(), 1000U);
  space.free(memory, 1000);
  EXPECT_EQ(space.used(), 0U);
  EXPECT_EQ(budget->used(), 0U);
}

TEST(MemorySpace, ASpaceAndItsCopyAreOne) {
  const MemorySpace space;
  const MemorySpace& copy = space;
  void* memory = copy.allocate(10);
  EXPECT_EQ(space.used(), 10U);
  space.free(memory, 10);
}

TEST(MemorySpace, BeyondTheLimitMemoryIsGivenBackAndThenTheErrorNamesAll) {
  const MemorySpace space = host_of(std::make_shared<MemoryBudget>(1000));
  void* first = space.allocate(800);
  expect_error(Code::kOutOfMemory,
               {"host memory", "no memory for 300 bytes", "the session holds 800 bytes",
                "session.memory_limit_bytes allows 1000"},
               [&] { static_cast<void>(space.allocate(300)); });
  int calls = 0;
  void* second = space.allocate(300, [&] {
    ++calls;
    space.free(first, 800);
  });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(space.used(), 300U);
  space.free(second, 300);
}

TEST(MemorySpace, WhatIsAllocatedElsewhereCountsToo) {
  const MemorySpace space = host_of(std::make_shared<MemoryBudget>(1000));
  space.count(900);
  expect_error(Code::kOutOfMemory, {"no memory for 200 bytes"}, [&] { space.count(200); });
  EXPECT_EQ(space.used(), 900U);
}

TEST(MemorySpace, OfABlockedDeviceGivesNothing) {
  const auto health = std::make_shared<DeviceHealth>();
  const MemorySpace space("MEM:0", nullptr, nullptr, health, nullptr);
  health->block(DeviceHealth::State::kLost, "it fell off the bus");
  expect_error(Code::kDeviceLost, {"device MEM:0 is blocked", "it fell off the bus"},
               [&] { static_cast<void>(space.allocate(1)); });
  EXPECT_FALSE(space.is_hung());
}

}  // namespace
}  // namespace gantry
