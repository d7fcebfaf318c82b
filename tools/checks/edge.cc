// SPDX-License-Identifier: Apache-2.0
#include "edge.h"

#include <algorithm>
#include <new>
#include <sys/mman.h>

namespace gantry::checks {
namespace {

constexpr size_t kPage = 4096;

}  // namespace

Edge::Edge(const void* whole, size_t whole_bytes, size_t size_bytes) {
  pages_ = mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages_ == MAP_FAILED) throw std::bad_alloc();
  auto* const end = static_cast<std::byte*>(pages_) + kPage;
  mprotect(end, kPage, PROT_NONE);
  start_ = end - size_bytes;
  std::memset(start_, 0xA5, size_bytes);
  std::memcpy(start_, whole, std::min(whole_bytes, size_bytes));
  const auto size = static_cast<uint32_t>(size_bytes);
  std::memcpy(start_, &size, std::min(sizeof(size), size_bytes));
}

Edge::~Edge() { munmap(pages_, 2 * kPage); }

}  // namespace gantry::checks
