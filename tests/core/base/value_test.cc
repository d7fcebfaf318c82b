// SPDX-License-Identifier: Apache-2.0
#include "base/value.h"

#include <gantry/error.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "base/block_cache.h"
#include "expect_error.h"

namespace gantry {
namespace {

TEST(Value, NewTensorsAreAlignedAndDense) {
  const ValueRef value = make_tensor(DType::kFloat, {2, 3});
  EXPECT_EQ(value->view.size, sizeof(gantry_tensor));
  EXPECT_EQ(value->view.rank, 2u);
  EXPECT_EQ(value->view.shape[1], 3);
  EXPECT_EQ(value->view.strides, nullptr);
  EXPECT_EQ(value->view.size_bytes, 24u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(value->view.data) % 64, 0u);
  EXPECT_TRUE(value->owner);
}

TEST(Value, LargeBlocksAreAlignedToo) {
  const std::shared_ptr<void> block = allocate_host(9u << 20);
  std::memset(block.get(), 1, 9u << 20);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block.get()) % 64, 0u);
}

TEST(Value, LargeBlocksServeTheNextOfTheirSize) {
  constexpr uint64_t kSize = uint64_t{5} << 20;
  free_kept_blocks();
  void* first = nullptr;
  {
    const std::shared_ptr<void> block = allocate_host(kSize);
    first = block.get();
    EXPECT_NE(allocate_host(kSize).get(),
              first);  // this one is kept, and then freed or kept beside
  }
  const std::shared_ptr<void> other = allocate_host(kSize + 1);
  EXPECT_NE(other.get(), first);
  const std::shared_ptr<void> again = allocate_host(kSize);
  EXPECT_EQ(again.get(), first);
}

TEST(Value, KeptBlocksAreLimited) {
  free_kept_blocks();
  constexpr uint64_t kHalf = kMostKept / 2;
  std::vector<std::shared_ptr<void>> blocks(3);
  for (std::shared_ptr<void>& block : blocks) block = allocate_host(kHalf);
  blocks.clear();
  void* kept[] = {take_cached_block(kHalf), take_cached_block(kHalf)};
  EXPECT_TRUE(kept[0] && kept[1]);
  EXPECT_EQ(take_cached_block(kHalf), nullptr);  // the oldest was freed
  for (void* block : kept) std::free(block);
  { const std::shared_ptr<void> huge = allocate_host(kMostKept + 1); }
  EXPECT_EQ(take_cached_block(kMostKept + 1), nullptr);
}

TEST(Value, TooMuchMemoryIsAnError) {
  test::expect_error(Code::kOutOfMemory, {"bytes"}, [] { allocate_host(uint64_t{1} << 62); });
  test::expect_error(Code::kOutOfMemory, {"bytes"}, [] { allocate_host(UINT64_MAX - 8); });
}

TEST(Value, ViewsKeepTheirOwnerAndRefuseShortMemory) {
  auto memory = std::make_shared<std::vector<float>>(6, 1.0f);
  const ValueRef view = view_tensor(DType::kFloat, {2, 3}, memory->data(), 24, memory);
  EXPECT_EQ(memory.use_count(), 2);
  EXPECT_EQ(view->view.data, memory->data());
  test::expect_error(Code::kInvalidArgument, {"float32[7]", "28", "24"},
                     [&] { view_tensor(DType::kFloat, {7}, memory->data(), 24, memory); });
}

TEST(Value, ShareKeepsWhatIsOwnedAndCopiesWhatIsBorrowed) {
  const ValueRef owned = make_tensor(DType::kInt32, {1});
  EXPECT_EQ(share(*owned), owned);

  int64_t element = 7;
  gantry_value borrowed;
  const int64_t extent = 1;
  borrowed.set_tensor(DType::kInt64, &extent, 1, &element, 8);
  const ValueRef copy = share(borrowed);
  EXPECT_NE(copy->view.data, &element);
  EXPECT_EQ(*static_cast<const int64_t*>(copy->view.data), 7);

  auto list = std::make_shared<gantry_value>();
  list->kind = GANTRY_KIND_SEQUENCE;
  list->dtype = DType::kInt64;
  list->items = {owned};
  EXPECT_EQ(share(*list), list);
  list->items.push_back(view_tensor(DType::kInt64, {1}, &element, 8, nullptr));
  const ValueRef list_copy = share(*list);
  EXPECT_NE(list_copy, list);
  EXPECT_EQ(list_copy->items[0], owned);
  EXPECT_NE(list_copy->items[1]->view.data, &element);
}

TEST(Value, StringsAreCopied) {
  const ValueRef value = make_tensor(DType::kString, {2});
  value->strings = {"a", "b"};
  EXPECT_EQ(copy_tensor(*value)->strings, value->strings);
  EXPECT_EQ(describe(*value), "string[2]");
}

// How many of the pages that lie wholly in the memory are there without having been written to.
size_t resident_pages(void* memory, size_t size_bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(memory) + page - 1) / page * page;
  const size_t count = (reinterpret_cast<uintptr_t>(memory) + size_bytes - begin) / page;
  std::vector<unsigned char> pages(count);
  EXPECT_EQ(mincore(reinterpret_cast<void*>(begin), count * page, pages.data()), 0);
  return static_cast<size_t>(
      std::count_if(pages.begin(), pages.end(), [](unsigned char is) { return (is & 1U) != 0; }));
}

TEST(Value, MiddleBlocksHaveTheirPagesAtOnce) {
  constexpr size_t kSize = size_t{3} << 20;  // a mapping of its own: nobody used it before
  void* plain = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(plain, MAP_FAILED);
  EXPECT_EQ(resident_pages(plain, kSize), 0U);
  const bool can = madvise(plain, kSize, MADV_POPULATE_WRITE) == 0;
  munmap(plain, kSize);
  if (!can) GTEST_SKIP() << "the kernel does not populate memory when asked to (Linux 5.14)";
  const std::unique_ptr<void, void (*)(void*)> block(allocate_host_block(kSize), std::free);
  EXPECT_GE(resident_pages(block.get(), kSize),
            kSize / static_cast<size_t>(sysconf(_SC_PAGESIZE)) - 1);
}

TEST(Value, Describe) {
  EXPECT_EQ(describe(DType::kFloat, {-1, 3}), "float32[?,3]");
  gantry_value value;
  EXPECT_EQ(describe(value), "nothing");
  value.kind = GANTRY_KIND_OPTIONAL;
  value.dtype = DType::kBool;
  EXPECT_EQ(describe(value), "optional(bool)");
}

}  // namespace
}  // namespace gantry
