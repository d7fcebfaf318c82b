// SPDX-License-Identifier: Apache-2.0
#include "plugin/shared_arena.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <vector>

#include "plugin/constant_store.h"
#include "support/expect_error.h"

namespace gantry {
namespace {

constexpr uint64_t kPage = SharedArena::kPage;

TEST(SharedArena, BlocksDoNotOverlapAndAreUsedAgain) {
  const auto arena = SharedArena::create();
  SharedArena::Block first = arena->allocate(1);
  SharedArena::Block second = arena->allocate(kPage + 1);
  EXPECT_EQ(first.size_bytes(), kPage);
  EXPECT_EQ(second.size_bytes(), 2 * kPage);
  EXPECT_EQ(second.offset(), first.offset() + kPage);
  const uint64_t offset = first.offset();
  first.reset();
  EXPECT_EQ(arena->allocate(kPage + 1).offset(), second.offset() + 2 * kPage);
  EXPECT_EQ(arena->allocate(kPage).offset(), offset);
}

TEST(SharedArena, WhatIsNotKeptIsFree) {
  const auto arena = SharedArena::create();
  SharedArena::Block block = arena->allocate(100 * kPage);
  const uint64_t begin = block.offset();
  block.keep(begin, 2 * kPage - 1);
  EXPECT_TRUE(block.contains(begin + kPage, kPage));
  EXPECT_FALSE(block.contains(begin + kPage, kPage + 1));
  EXPECT_FALSE(block.contains(begin + 3 * kPage, 1));
  EXPECT_FALSE(block.contains(begin, UINT64_MAX));
  EXPECT_EQ(arena->allocate(kPage).offset(), begin + 2 * kPage);
  SharedArena::Block spare = arena->allocate_spare(10 * kPage);
  EXPECT_EQ(spare.offset(), SharedArena::kSizeBytes - 10 * kPage);
  EXPECT_EQ(arena->allocate_spare(SharedArena::kSizeBytes).size_bytes(), 0U);
  test::expect_error(Code::kOutOfMemory, {"no room"},
                     [&] { arena->allocate(SharedArena::kSizeBytes); });
  spare.reset();
  block.reset();
  EXPECT_EQ(arena->allocate(SharedArena::kSizeBytes).offset(), 0U) << "all parts are joined again";
}

TEST(SharedArena, KnowsWhatLiesInIt) {
  const auto arena = SharedArena::create();
  const SharedArena::Block block = arena->allocate(kPage);
  uint64_t offset = 0;
  EXPECT_TRUE(arena->find(block.data() + 8, 8, offset));
  EXPECT_EQ(offset, block.offset() + 8);
  EXPECT_FALSE(arena->find(&offset, 8, offset));
  EXPECT_FALSE(arena->find(arena->memory().data() + SharedArena::kSizeBytes - 4, 8, offset));
}

TEST(SharedMemory, CannotChangeItsSizeNorSealedContent) {
  const auto memory = SharedMemory::create(kPage);
  EXPECT_NE(ftruncate(memory->file(), 0), 0);
  EXPECT_NE(ftruncate(memory->file(), 2 * kPage), 0);
  std::memset(memory->data(), 7, kPage);
  memory->seal_content();
  EXPECT_EQ(mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, memory->file(), 0),
            MAP_FAILED);
  const auto seen = SharedMemory::map(Descriptor(dup(memory->file())), kPage, false);
  EXPECT_EQ(seen->data()[kPage - 1], std::byte{7});
  test::expect_error(Code::kInternal, {"expected sealed"},
                     [&] { SharedMemory::map(Descriptor(dup(memory->file())), kPage + 1, false); });
  test::expect_error(Code::kInternal, {"expected sealed"}, [] {
    Descriptor open(memfd_create("test", MFD_ALLOW_SEALING));
    ASSERT_EQ(ftruncate(open.get(), kPage), 0);
    SharedMemory::map(std::move(open), kPage, false);
  });
}

TEST(ConstantStore, KeepsAConstantOnceAndTellsWhenItIsGone) {
  const auto store = ConstantStore::create();
  ValueRef large = make_tensor(DType::kFloat, {5000});
  const ValueRef small = make_tensor(DType::kFloat, {5});
  std::memset(large->view.data, 3, large->view.size_bytes);
  const auto place = [&](DataPlace& at) {
    ConstantStore::Batch batch(store);
    EXPECT_EQ(batch.place(*small).where, DataPlace::kInline);
    at = batch.place(*large);
    EXPECT_EQ(batch.place(*large).offset, at.offset);
    return batch.finish();
  };
  DataPlace first;
  DataPlace second;
  ConstantStore::Segments kept = place(first);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0]->id, first.where);
  EXPECT_EQ(place(second)[0], kept[0]);
  EXPECT_EQ(second.where, first.where);
  const auto is_dropped = [&] {
    const std::vector<uint64_t> dropped = store->take_dropped();
    return std::find(dropped.begin(), dropped.end(), first.where) != dropped.end();
  };
  large.reset();
  ConstantStore::Batch(store).finish();
  EXPECT_FALSE(is_dropped()) << "a kernel may need it for the next worker";
  kept.clear();
  EXPECT_TRUE(is_dropped());
}

}  // namespace
}  // namespace gantry
