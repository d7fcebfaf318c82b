// SPDX-License-Identifier: Apache-2.0
#include "plugin/packed_memory.h"

#include <gantry/error.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alignment.h"
#include "base/mutex.h"
#include "base/process_state.h"
#include "plugin/huge_pages.h"

namespace gantry {
namespace {

constexpr uint64_t kHugePage = kHugePageBytes;
constexpr uint64_t kChunk = 16 * kHugePage;  // mapping that small blocks share

[[noreturn]] void fail_packed(uint64_t size_bytes) {
  throw Error(Code::kOutOfMemory,
              "no memory for packed data of " + std::to_string(size_bytes) + " bytes");
}

// A mapping that starts at a huge page. Its end is a small page's, so that the last huge page is
// not taken whole for a few bytes.
std::shared_ptr<std::byte> map(uint64_t size_bytes) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (size_bytes > UINT64_MAX - kHugePage - page) fail_packed(size_bytes);
  const uint64_t length = round_up(size_bytes, page);
  void* whole =
      mmap(nullptr, length + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (whole == MAP_FAILED) fail_packed(size_bytes);
  auto* first = static_cast<std::byte*>(whole);
  const uint64_t before =
      round_up(reinterpret_cast<uintptr_t>(first), kHugePage) - reinterpret_cast<uintptr_t>(first);
  std::byte* begin = first + before;
  if (before > 0) munmap(first, before);
  if (before < kHugePage) munmap(begin + length, kHugePage - before);
  return {begin, [length](std::byte* memory) { munmap(memory, length); }};
}

struct Chunk {
  static constexpr ProcessState kState = ProcessState::kPackedMemory;

  Mutex mutex;
  std::weak_ptr<std::byte> memory GANTRY_GUARDED_BY(mutex);  // its blocks own it
  HugePages pages GANTRY_GUARDED_BY(mutex);
  uint64_t used GANTRY_GUARDED_BY(mutex) = 0;
};

Chunk& chunk() { return process_state<Chunk>(); }

}  // namespace

std::shared_ptr<void> allocate_packed(uint64_t size_bytes) {
  if (size_bytes >= kHugePage) {
    std::shared_ptr<std::byte> memory = map(size_bytes);
    HugePages(memory, size_bytes).use(size_bytes);
    return memory;
  }
  const uint64_t size = round_up(std::max<uint64_t>(size_bytes, 1), kTensorAlignment);
  Chunk& shared = chunk();
  const MutexLock lock(shared.mutex);
  std::shared_ptr<std::byte> memory = shared.memory.lock();
  if (!memory || kChunk - shared.used < size) {
    memory = map(kChunk);
    shared.memory = memory;
    shared.pages = HugePages(memory, kChunk);
    shared.used = 0;
  }
  std::byte* block = memory.get() + shared.used;
  shared.used += size;
  shared.pages.use(shared.used);
  return {std::move(memory), block};
}

}  // namespace gantry
