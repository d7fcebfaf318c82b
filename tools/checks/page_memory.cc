// SPDX-License-Identifier: Apache-2.0
#include "page_memory.h"

#include <algorithm>
#include <new>
#include <sys/mman.h>

namespace gantry::checks {

PageMemory::PageMemory(uint64_t size_bytes) : size_bytes_(std::max<uint64_t>(size_bytes, 1)) {
  data_ = mmap(nullptr, size_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data_ == MAP_FAILED) throw std::bad_alloc();
}

PageMemory::~PageMemory() { munmap(data_, size_bytes_); }

void PageMemory::close() const { mprotect(data_, size_bytes_, PROT_NONE); }

}  // namespace gantry::checks
