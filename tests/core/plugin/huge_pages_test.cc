// SPDX-License-Identifier: Apache-2.0
#include "plugin/huge_pages.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <thread>

namespace gantry {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr uint64_t kPages = 4;

std::shared_ptr<std::byte> mapping() {
  const uint64_t length = (kPages + 1) * kHugePageBytes;
  void* whole = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const uint64_t address = reinterpret_cast<uintptr_t>(whole);
  const uint64_t before = (kHugePageBytes - address % kHugePageBytes) % kHugePageBytes;
  return {static_cast<std::byte*>(whole) + before,
          [whole, length](std::byte*) { munmap(whole, length); }};
}

// KiB of huge pages in the mappings that overlap [begin, end).
uint64_t huge_kib(const std::byte* begin, const std::byte* end) {
  std::ifstream maps("/proc/self/smaps");
  uint64_t sum = 0;
  bool is_inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long long first = 0;
    unsigned long long last = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx ", &first, &last) == 2) {
      is_inside =
          first < reinterpret_cast<uintptr_t>(end) && last > reinterpret_cast<uintptr_t>(begin);
    } else if (is_inside && line.starts_with("AnonHugePages:")) {
      sum += std::stoull(line.substr(line.find(':') + 1));
    }
  }
  return sum;
}

bool gathers_pages() {
  constexpr int kCollapse = 25;
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string modes;
  std::getline(file, modes);
  return madvise(nullptr, 0, kCollapse) == 0 && !modes.empty() &&
         modes.find("[never]") == std::string::npos;
}

TEST(HugePages, SmallPagesBecomeHugeAndKeepTheirContent) {
  if (!gathers_pages()) GTEST_SKIP() << "this system does not gather pages";
  const std::shared_ptr<std::byte> memory = mapping();
  std::byte* end = memory.get() + kPages * kHugePageBytes;
  HugePages(memory, kPages * kHugePageBytes).use(kPages * kHugePageBytes, nanoseconds(0));
  std::fill(memory.get(), end, std::byte{7});
  EXPECT_LT(huge_kib(memory.get() + kHugePageBytes, end), (kPages - 1) * kHugePageBytes / 1024);
  const auto deadline = std::chrono::steady_clock::now() + seconds(20);
  while (huge_kib(memory.get() + kHugePageBytes, end) < (kPages - 1) * kHugePageBytes / 1024) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "the pages stayed small";
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(std::all_of(memory.get(), end, [](std::byte x) { return x == std::byte{7}; }));
}

TEST(HugePages, MemoryThatIsReleasedIsNotGathered) {
  std::shared_ptr<std::byte> memory = mapping();
  HugePages(memory, kPages * kHugePageBytes).use(kPages * kHugePageBytes, nanoseconds(0));
  const std::weak_ptr<std::byte> watch = memory;
  memory.reset();
  EXPECT_TRUE(watch.expired());
}

TEST(HugePages, AMappingBelowAHugePageIsLeftAlone) {
  const std::shared_ptr<std::byte> memory = mapping();
  HugePages(memory, 4096).use(4096, nanoseconds(0));
  EXPECT_EQ(memory.get()[4095], std::byte{0});
}

}  // namespace
}  // namespace gantry
