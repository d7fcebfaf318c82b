// SPDX-License-Identifier: Apache-2.0
#include "fake_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace gantry::test {
namespace {

constexpr int kUnwritten = 0xff;
constexpr size_t kAlignment = 256;
constexpr size_t kPage = 4096;
constexpr size_t kMapped = size_t{256} << 10;  // from here on blocks are mapped
constexpr size_t kFile = size_t{16} << 20;

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// A file in memory of kFile bytes that are kUnwritten, which blocks are copies of; -1: none.
int unwritten_file() {
  static const int file = [] {
    const int made = memfd_create("gantry_fake_memory", MFD_CLOEXEC);
    const std::string bytes(kFile, static_cast<char>(kUnwritten));
    if (made >= 0 && write(made, bytes.data(), kFile) != static_cast<ssize_t>(kFile)) return -1;
    return made;
  }();
  return file;
}

void* map_memory(size_t bytes) {
  const int file = unwritten_file();
  const size_t mapped = round_up(bytes, kPage);
  void* block = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (file < 0 || block == MAP_FAILED) return nullptr;
  for (size_t at = 0; at < mapped; at += kFile) {
    void* const place = static_cast<char*>(block) + at;
    if (mmap(place, std::min(kFile, mapped - at), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
             file, 0) == MAP_FAILED)
      return nullptr;
  }
  return block;
}

}  // namespace

void* take_memory(size_t bytes) {
  if (bytes >= kMapped) return map_memory(bytes);
  void* const block = std::aligned_alloc(kAlignment, round_up(bytes, kAlignment));
  if (block) std::memset(block, kUnwritten, bytes);
  return block;
}

void give_memory(void* memory, size_t bytes) {
  if (bytes >= kMapped) {
    munmap(memory, round_up(bytes, kPage));
  } else {
    std::free(memory);
  }
}

}  // namespace gantry::test
