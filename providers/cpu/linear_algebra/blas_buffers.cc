// SPDX-License-Identifier: Apache-2.0
#include "linear_algebra/blas_buffers.h"

#include <gantry/sdk/mutex.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

// NOLINTBEGIN(readability-identifier-naming): --wrap makes the names
extern "C" {
void* __real_blas_memory_alloc(int kind);
void __real_blas_memory_free(void* buffer);
void* __real_mmap(void* address, size_t size_bytes, int protection, int flags, int file,
                  off_t offset);
void* __wrap_blas_memory_alloc(int kind);
void __wrap_blas_memory_free(void* buffer);
void* __wrap_mmap(void* address, size_t size_bytes, int protection, int flags, int file,
                  off_t offset);
}
// NOLINTEND(readability-identifier-naming)

namespace {

/// OpenBLAS ends the process when its table of 128 buffers is full. A call takes at most one.
constexpr int kMostBuffers = 120;

/// Address space of a buffer, rounded up: 32 MiB for each of four kinds of blocks.
constexpr size_t kBufferBytes = size_t{130} << 20;

// OpenBLAS creates a buffer only if all existing ones are in use, so it never has more than were
// reserved at one time. `rooms` holds a mapping for each reserved buffer that it has not created.
struct BufferTable {
  gantry::sdk::Mutex mutex;
  gantry::sdk::CondVar freed;
  int promised GANTRY_GUARDED_BY(mutex) = 0;
  int most_promised GANTRY_GUARDED_BY(mutex) = 0;
  int spare GANTRY_GUARDED_BY(mutex) = 0;
  std::array<void*, kMostBuffers> rooms GANTRY_GUARDED_BY(mutex);
};

BufferTable& buffer_table() {
  static BufferTable table;
  return table;
}

// The thread that is creating a buffer, which holds the table's mutex, and the mapping for it.
// Atomic, since other threads that call mmap meanwhile compare themselves with it.
constinit std::atomic<pthread_t> maker{};
constinit void* offered = nullptr;

}  // namespace

void* __wrap_mmap(void* address, size_t size_bytes, int protection, int flags, int file,
                  off_t offset) {
  const bool is_maker = maker.load(std::memory_order_relaxed) == pthread_self();
  if (!is_maker || !offered || address || file != -1 || size_bytes > kBufferBytes)
    return __real_mmap(address, size_bytes, protection, flags, file, offset);
  auto* room = static_cast<std::byte*>(std::exchange(offered, nullptr));
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t taken = (size_bytes + page - 1) / page * page;
  if (taken < kBufferBytes) munmap(room + taken, kBufferBytes - taken);
  return room;
}

void* __wrap_blas_memory_alloc(int kind) {
  BufferTable& table = buffer_table();
  const gantry::sdk::MutexLock lock(table.mutex);
  if (table.spare > 0) {
    offered = table.rooms[static_cast<size_t>(--table.spare)];
    maker.store(pthread_self(), std::memory_order_relaxed);
  }
  void* buffer = __real_blas_memory_alloc(kind);
  maker.store({}, std::memory_order_relaxed);
  if (offered) table.rooms[static_cast<size_t>(table.spare++)] = std::exchange(offered, nullptr);
  return buffer;
}

void __wrap_blas_memory_free(void* buffer) {
  const gantry::sdk::MutexLock lock(buffer_table().mutex);
  __real_blas_memory_free(buffer);
}

namespace gantry::cpu {

BlasBuffer::BlasBuffer() {
  BufferTable& table = buffer_table();
  const sdk::MutexLock lock(table.mutex);
  while (table.promised >= kMostBuffers) table.freed.wait(table.mutex);
  if (table.promised == table.most_promised) {
    void* room = __real_mmap(nullptr, kBufferBytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return;
    table.rooms[static_cast<size_t>(table.spare++)] = room;
    ++table.most_promised;
  }
  ++table.promised;
  is_reserved_ = true;
}

BlasBuffer::~BlasBuffer() {
  if (!is_reserved_) return;
  BufferTable& table = buffer_table();
  {
    const sdk::MutexLock lock(table.mutex);
    --table.promised;
  }
  table.freed.notify_one();
}

}  // namespace gantry::cpu
