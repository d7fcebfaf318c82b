// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolation/shared_arena.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "plugin/huge_pages.h"
#include "plugin/isolation/constant_store.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace gantry {
namespace {

constexpr uint64_t kPage = SharedArena::kPage;

TEST(SharedArena, WhoHasTheFileCannotAddSeals) {
  const auto arena = SharedArena::create();
  // A worker could keep the next one from mapping it, and the host from giving pages back.
  EXPECT_EQ(fcntl(arena->memory().file(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(ftruncate(arena->memory().file(), 4096), -1);
}

TEST(SharedArena, FitsIntoALittleAddressSpace) {
  EXPECT_EQ(SharedArena::create()->size_bytes(), SharedArena::kMostBytes);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  uint64_t used_pages = 0;  // also those of a sanitizer
  std::ifstream("/proc/self/statm") >> used_pages;
  const rlimit little = {used_pages * kPage + (uint64_t{6} << 30), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &little), 0);
  const auto arena = SharedArena::create();
  EXPECT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_EQ(arena->size_bytes(), uint64_t{1} << 30);
  EXPECT_EQ(arena->allocate(arena->size_bytes()).offset(), 0U);
  test::expect_error(Code::kOutOfMemory, {"no room", "1073741824"},
                     [&] { arena->allocate(arena->size_bytes() + 1); });
}

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

// KiB of huge pages in the mapping of the arena.
uint64_t huge_kib(const SharedArena& arena) {
  std::ifstream maps("/proc/self/smaps");
  const auto begin = reinterpret_cast<uintptr_t>(arena.memory().data());
  uint64_t sum = 0;
  bool is_inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long long first = 0;
    if (unsigned long long last = 0; std::sscanf(line.c_str(), "%llx-%llx ", &first, &last) == 2) {
      is_inside = first >= begin && first < begin + arena.size_bytes();
    } else if (is_inside && line.starts_with("ShmemPmdMapped:")) {
      sum += std::stoull(line.substr(line.find(':') + 1));
    }
  }
  return sum;
}

TEST(SharedArena, LargeBlocksGetHugePagesAndKeepTheirContent) {
  constexpr int kCollapse = 25;
  constexpr uint64_t kPages = 4;
  if (madvise(nullptr, 0, kCollapse) != 0) GTEST_SKIP() << "this system does not gather pages";
  const auto arena = SharedArena::create();
  const SharedArena::Block block = arena->allocate(kPages * kHugePageBytes);
  if (reinterpret_cast<uintptr_t>(arena->memory().data()) % kHugePageBytes != 0)
    GTEST_SKIP() << "this system does not place large mappings at a huge page";
  std::memset(block.data(), 7, block.size_bytes());
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const auto is_kept = [&] {
    return std::all_of(block.data(), block.data() + block.size_bytes(),
                       [](std::byte x) { return x == std::byte{7}; });
  };
  // A huge page that was gathered is mapped as one when it is next read.
  while (is_kept() && huge_kib(*arena) < kPages * kHugePageBytes / 1024) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "the pages stayed small";
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(is_kept());
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
  EXPECT_EQ(spare.offset(), arena->size_bytes() - 10 * kPage);
  EXPECT_EQ(arena->allocate_spare(arena->size_bytes()).size_bytes(), 0U);
  test::expect_error(Code::kOutOfMemory, {"no room"},
                     [&] { arena->allocate(arena->size_bytes()); });
  spare.reset();
  block.reset();
  EXPECT_EQ(arena->allocate(arena->size_bytes()).offset(), 0U) << "all parts are joined again";
}

TEST(SharedArena, KnowsWhatLiesInIt) {
  const auto arena = SharedArena::create();
  const SharedArena::Block block = arena->allocate(kPage);
  uint64_t offset = 0;
  EXPECT_TRUE(arena->find(block.data() + 8, 8, offset));
  EXPECT_EQ(offset, block.offset() + 8);
  EXPECT_FALSE(arena->find(&offset, 8, offset));
  EXPECT_FALSE(arena->find(arena->memory().data() + arena->size_bytes() - 4, 8, offset));
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

TEST(ConstantStore, NamesTheFileOfAMappedConstant) {
  const test::TempFolder folder;
  const std::string path = folder.path("weights");
  std::vector<char> bytes(3 * kPage);
  bytes[kPage + 5] = 42;
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<long>(bytes.size()));
  const auto store = ConstantStore::create();
  auto file = MappedFile::open(path);
  const std::byte* begin = file->bytes().data();
  const std::vector<int64_t> shape = {2 * kPage - 5};
  const ValueRef value = view_tensor(DType::kUint8, shape, begin + kPage + 5, 2 * kPage - 5, file);
  EXPECT_EQ(MappedFile::find(begin + kPage, 2 * kPage), file);
  EXPECT_EQ(MappedFile::find(begin + kPage, 2 * kPage + 1), nullptr);
  EXPECT_EQ(MappedFile::find(begin - 1, 1), nullptr);
  ConstantStore::Batch batch(store);
  const DataPlace place = batch.place(*value);
  const ConstantStore::Segments segments = batch.finish();
  ASSERT_EQ(segments.size(), 1U);
  EXPECT_EQ(place.where, segments[0]->id);
  EXPECT_EQ(place.offset, kPage + 5);
  EXPECT_EQ(segments[0]->memory, nullptr) << "nothing is copied";
  ConstantStore::Batch again(store);
  EXPECT_EQ(again.place(*value).where, place.where) << "a file is one segment";
  const uint64_t size = segments[0]->size_bytes();
  EXPECT_EQ(size, 3 * kPage);
  const auto seen = SharedMemory::map_file(Descriptor(dup(segments[0]->file())), size);
  EXPECT_EQ(seen->data()[place.offset], std::byte{42});
  test::expect_error(Code::kInternal, {"must not be shortened"}, [&] {
    SharedMemory::map_file(Descriptor(dup(segments[0]->file())), size + 1);
  });
  file.reset();
  EXPECT_NE(MappedFile::find(begin, 1), nullptr) << "the segment keeps it";
}

}  // namespace
}  // namespace gantry
