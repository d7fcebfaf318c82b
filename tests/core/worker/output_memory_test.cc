// SPDX-License-Identifier: Apache-2.0
#include "worker/output_memory.h"

#include <cstring>
#include <gtest/gtest.h>
#include <vector>

#include "support/expect_error.h"

namespace gantry {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kBytes = 64 * kPage;

ValueRef make(OutputMemory& memory, std::vector<int64_t> shape) {
  return memory.make(DType::kFloat, shape);
}

TEST(OutputMemory, EndsBeforeAPageThatMayNotBeTouched) {
  WorkerArena arena(SharedMemory::create(kBytes));
  OutputMemory memory(arena, {{{0, 16 * kPage}, {32 * kPage, 16 * kPage}}});
  const ValueRef first = make(memory, {16});
  const ValueRef second = make(memory, {1, 1024});
  for (const ValueRef& value : {first, second}) {
    const auto at = reinterpret_cast<uintptr_t>(value->view.data);
    EXPECT_EQ(at % 64, 0U);
    std::memset(value->view.data, 1, value->view.size_bytes);
    auto* end = static_cast<volatile char*>(value->view.data) + value->view.size_bytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(end) % kPage, 0U);
    EXPECT_DEATH(*end = 1, "");
  }
  // The page is opened again when the memory is wanted for something else.
  std::memset(arena.open(0, 16 * kPage), 2, 16 * kPage);
}

TEST(OutputMemory, TakesTheSecondWindowForWhatTheFirstHasNoRoomFor) {
  WorkerArena arena(SharedMemory::create(kBytes));
  OutputMemory memory(arena, {{{0, 2 * kPage}, {32 * kPage, 16 * kPage}}});
  uint64_t offset = 0;
  const ValueRef large = make(memory, {2048});
  ASSERT_TRUE(arena.find(large->view.data, offset));
  EXPECT_EQ(offset, 32 * kPage);
  const ValueRef small = make(memory, {0});
  ASSERT_TRUE(arena.find(small->view.data, offset));
  EXPECT_LE(offset, kPage);
  test::expect_error(Code::kOutOfMemory, {"no room"}, [&] { make(memory, {1 << 20}); });
}

TEST(OutputMemory, NothingBeyondTheArenaIsOpened) {
  WorkerArena arena(SharedMemory::create(kBytes));
  test::expect_error(Code::kInternal, {"beyond"}, [&] { arena.open(kBytes - 1, 2); });
  test::expect_error(Code::kInternal, {"beyond"}, [&] { arena.open(UINT64_MAX, 1); });
  EXPECT_EQ(arena.open(kBytes - 1, 1), arena.memory()->data() + kBytes - 1);
}

}  // namespace
}  // namespace gantry
