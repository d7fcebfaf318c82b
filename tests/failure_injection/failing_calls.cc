// SPDX-License-Identifier: Apache-2.0
#include "failing_calls.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdlib>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace gantry::test {
namespace {

constexpr int kMostFrames = 48;

std::atomic<Failing> failing{Failing::kNothing};
std::atomic<int64_t> left{0};
std::atomic<bool> failed{false};
std::atomic<int64_t> live_blocks{0};
std::array<void*, kMostFrames> frames;
std::atomic<int> frame_count{0};

/// Whether this call is the one that fails.
bool fails(Failing kind, int error) {
  if (failing.load(std::memory_order_relaxed) != kind) return false;
  if (left.fetch_sub(1, std::memory_order_relaxed) != 1) return false;
  failing.store(Failing::kNothing, std::memory_order_relaxed);
  failed = true;
  frame_count = backtrace(frames.data(), kMostFrames);
  errno = error;
  return true;
}

/// The C library's function of that name.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

void* counted(void* block) {
  if (block) live_blocks.fetch_add(1, std::memory_order_relaxed);
  return block;
}

}  // namespace

void fail_call(Failing kind, uint64_t number) {
  void* one = nullptr;
  backtrace(&one, 1);  // the first call of a process opens a library
  failed = false;
  frame_count = 0;
  left = static_cast<int64_t>(number);
  failing = kind;
}

bool end_failing() {
  failing = Failing::kNothing;
  return failed;
}

bool has_failed() { return failed; }

void print_failed_call() { backtrace_symbols_fd(frames.data(), frame_count, STDERR_FILENO); }

bool has_failed_in(std::string_view name) {
  char** lines = backtrace_symbols(frames.data(), frame_count);
  const auto found = std::any_of(lines, lines + frame_count, [&](const char* line) {
    return std::string_view(line).find(name) != std::string_view::npos;
  });
  std::free(lines);
  return found;
}

int64_t blocks() { return live_blocks; }

}  // namespace gantry::test

using gantry::test::Failing;
using gantry::test::fails;

// The names are the C library's, and seen by all libraries of the process.
#pragma GCC visibility push(default)
extern "C" {

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* block);

void* malloc(size_t size) noexcept {
  return fails(Failing::kMemory, ENOMEM) ? nullptr : gantry::test::counted(__libc_malloc(size));
}
void* calloc(size_t count, size_t size) noexcept {
  return fails(Failing::kMemory, ENOMEM) ? nullptr
                                         : gantry::test::counted(__libc_calloc(count, size));
}
void* realloc(void* block, size_t size) noexcept {
  if (fails(Failing::kMemory, ENOMEM)) return nullptr;
  void* result = __libc_realloc(block, size);
  if (!block) gantry::test::counted(result);
  return result;
}
void* memalign(size_t alignment, size_t size) noexcept {
  return fails(Failing::kMemory, ENOMEM) ? nullptr
                                         : gantry::test::counted(__libc_memalign(alignment, size));
}
void* aligned_alloc(size_t alignment, size_t size) noexcept { return memalign(alignment, size); }
int posix_memalign(void** block, size_t alignment, size_t size) noexcept {
  void* result = memalign(alignment, size);
  if (!result) return ENOMEM;
  *block = result;
  return 0;
}
void free(void* block) noexcept {
  if (block) gantry::test::live_blocks.fetch_sub(1, std::memory_order_relaxed);
  __libc_free(block);
}

void* mmap(void* address, size_t size, int protection, int flags, int file, off_t offset) noexcept {
  static auto* call = gantry::test::next<decltype(mmap)>("mmap");
  return fails(Failing::kMappings, ENOMEM) ? MAP_FAILED
                                           : call(address, size, protection, flags, file, offset);
}
int mprotect(void* address, size_t size, int protection) noexcept {
  static auto* call = gantry::test::next<decltype(mprotect)>("mprotect");
  return fails(Failing::kMappings, ENOMEM) ? -1 : call(address, size, protection);
}
int memfd_create(const char* name, unsigned flags) noexcept {
  static auto* call = gantry::test::next<decltype(memfd_create)>("memfd_create");
  return fails(Failing::kDescriptors, EMFILE) ? -1 : call(name, flags);
}
int ftruncate(int file, off_t size) noexcept {
  static auto* call = gantry::test::next<decltype(ftruncate)>("ftruncate");
  return fails(Failing::kMappings, ENOSPC) ? -1 : call(file, size);
}
int posix_fallocate(int file, off_t offset, off_t size) {
  static auto* call = gantry::test::next<decltype(posix_fallocate)>("posix_fallocate");
  return fails(Failing::kMappings, ENOSPC) ? ENOSPC : call(file, offset, size);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) noexcept {
  static auto* call = gantry::test::next<decltype(pthread_create)>("pthread_create");
  return fails(Failing::kThreads, EAGAIN) ? EAGAIN : call(thread, attributes, start, argument);
}

int open(const char* path, int flags, ...) {
  static auto* call = gantry::test::next<decltype(open)>("open");
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (fails(Failing::kFiles, EIO) || fails(Failing::kDescriptors, EMFILE)) return -1;
  return call(path, flags, mode);
}
int fstat(int file, struct stat* status) noexcept {
  static auto* call = gantry::test::next<decltype(fstat)>("fstat");
  return fails(Failing::kFiles, EIO) ? -1 : call(file, status);
}
int stat(const char* path, struct stat* status) noexcept {
  static auto* call = gantry::test::next<decltype(stat)>("stat");
  return fails(Failing::kFiles, EIO) ? -1 : call(path, status);
}
ssize_t read(int file, void* bytes, size_t size) {
  static auto* call = gantry::test::next<decltype(read)>("read");
  return fails(Failing::kFiles, EIO) ? -1 : call(file, bytes, size);
}
ssize_t pread(int file, void* bytes, size_t size, off_t offset) {
  static auto* call = gantry::test::next<decltype(pread)>("pread");
  return fails(Failing::kFiles, EIO) ? -1 : call(file, bytes, size, offset);
}
off_t lseek(int file, off_t offset, int from) noexcept {
  static auto* call = gantry::test::next<decltype(lseek)>("lseek");
  return fails(Failing::kFiles, EIO) ? -1 : call(file, offset, from);
}
int socketpair(int domain, int type, int protocol, int files[2]) noexcept {
  static auto* call = gantry::test::next<decltype(socketpair)>("socketpair");
  return fails(Failing::kDescriptors, EMFILE) ? -1 : call(domain, type, protocol, files);
}
int pipe2(int files[2], int flags) noexcept {
  static auto* call = gantry::test::next<decltype(pipe2)>("pipe2");
  return fails(Failing::kDescriptors, EMFILE) ? -1 : call(files, flags);
}

int posix_spawn(pid_t* process, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const arguments[],
                char* const environment[]) {
  static auto* call = gantry::test::next<decltype(posix_spawn)>("posix_spawn");
  return fails(Failing::kProcesses, EAGAIN)
             ? EAGAIN
             : call(process, path, actions, attributes, arguments, environment);
}
int kill(pid_t process, int signal) noexcept {
  static auto* call = gantry::test::next<decltype(kill)>("kill");
  return fails(Failing::kProcesses, EPERM) ? -1 : call(process, signal);
}

ssize_t sendmsg(int file, const struct msghdr* message, int flags) {
  static auto* call = gantry::test::next<decltype(sendmsg)>("sendmsg");
  return fails(Failing::kMessages, EIO) ? -1 : call(file, message, flags);
}
ssize_t recvmsg(int file, struct msghdr* message, int flags) {
  static auto* call = gantry::test::next<decltype(recvmsg)>("recvmsg");
  return fails(Failing::kMessages, EIO) ? -1 : call(file, message, flags);
}
int poll(struct pollfd* files, nfds_t count, int timeout) {
  static auto* call = gantry::test::next<decltype(poll)>("poll");
  return fails(Failing::kMessages, ENOMEM) ? -1 : call(files, count, timeout);
}
ssize_t write(int file, const void* bytes, size_t size) {
  static auto* call = gantry::test::next<decltype(write)>("write");
  return fails(Failing::kMessages, EIO) ? -1 : call(file, bytes, size);
}
ssize_t writev(int file, const struct iovec* parts, int count) {
  static auto* call = gantry::test::next<decltype(writev)>("writev");
  return fails(Failing::kMessages, EIO) ? -1 : call(file, parts, count);
}

}  // extern "C"
#pragma GCC visibility pop
