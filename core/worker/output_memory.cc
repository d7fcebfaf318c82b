// SPDX-License-Identifier: Apache-2.0
#include "worker/output_memory.h"

#include <algorithm>
#include <string>
#include <sys/mman.h>

#include "base/alignment.h"

namespace gantry {
namespace {

constexpr uint64_t kPage = 4096;

}  // namespace

std::byte* WorkerArena::open(uint64_t offset, uint64_t size_bytes) {
  if (offset > memory_->size_bytes() || size_bytes > memory_->size_bytes() - offset) {
    throw Error(Code::kInternal, "a message names " + std::to_string(size_bytes) + " bytes at " +
                                     std::to_string(offset) + ", beyond the shared memory");
  }
  const MutexLock lock(mutex_);
  for (auto page = closed_.lower_bound(offset / kPage * kPage);
       page != closed_.end() && *page < offset + size_bytes; page = closed_.erase(page)) {
    if (mprotect(memory_->data() + *page, kPage, PROT_READ | PROT_WRITE) != 0)
      throw Error(Code::kOutOfMemory, "a page of the shared memory could not be opened again");
  }
  return memory_->data() + offset;
}

void WorkerArena::close_page(uint64_t offset) {
  const MutexLock lock(mutex_);
  if (closed_.size() >= kMostClosed || !closed_.insert(offset).second) return;
  if (mprotect(memory_->data() + offset, kPage, PROT_NONE) != 0) closed_.erase(offset);
}

bool WorkerArena::find(const void* data, uint64_t& offset) const {
  const auto* at = static_cast<const std::byte*>(data);
  const std::byte* begin = memory_->data();
  if (at < begin || at >= begin + memory_->size_bytes()) return false;
  offset = static_cast<uint64_t>(at - begin);
  return true;
}

ValueRef OutputMemory::make(DType dtype, std::span<const int64_t> shape) {
  std::vector<int64_t> extents(shape.begin(), shape.end());
  const uint64_t size_bytes = bytes_of(dtype, element_count(shape));
  const uint64_t pages = round_up(std::max<uint64_t>(size_bytes, 1), kPage);
  for (WorkerRun::Window& window : windows_) {
    if (window.size_bytes < pages + kPage || pages < size_bytes) continue;
    const uint64_t offset = window.offset + pages - round_up(size_bytes, kTensorAlignment);
    arena_.open(window.offset, pages);
    arena_.close_page(window.offset + pages);
    window.offset += pages + kPage;
    window.size_bytes -= pages + kPage;
    return view_tensor(dtype, std::move(extents), arena_.memory()->data() + offset, size_bytes,
                       arena_.memory());
  }
  throw Error(Code::kOutOfMemory, "no room in the shared memory for an output of " +
                                      std::to_string(size_bytes) + " bytes");
}

}  // namespace gantry
