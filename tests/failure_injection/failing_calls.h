// SPDX-License-Identifier: Apache-2.0
// Calls of the C library that fail when a test says so: the test's executable has functions of
// their names, which its libraries find first. What the C library calls within itself is left
// alone. Any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace gantry::test {

/// Kinds of calls, each counted for itself.
enum class Failing : uint32_t {
  kNothing,
  kMemory,       ///< malloc and its relatives, and so operator new: ENOMEM
  kMappings,     ///< mmap, mprotect, memfd_create, ftruncate, posix_fallocate: ENOMEM
  kThreads,      ///< pthread_create: EAGAIN
  kFiles,        ///< open, stat, read and the like: EIO
  kDescriptors,  ///< those that make a descriptor: EMFILE
  kProcesses,    ///< posix_spawn, fork: EAGAIN
  kMessages,     ///< sendmsg, recvmsg, poll, write, writev: EIO
};

/// From now on the call of that kind and `number` (from 1) fails, and no other.
void fail_call(Failing kind, uint64_t number);
/// Ends it. True: the call came, and failed.
bool end_failing();
/// Whether the call has failed.
bool has_failed();
/// Writes to the standard error output which functions led to the call that failed.
void print_failed_call();
/// Whether it came through a function or library whose name has this in it.
bool has_failed_in(std::string_view name);
/// Blocks of memory that were asked for and not given back.
int64_t blocks();

}  // namespace gantry::test
