// SPDX-License-Identifier: Apache-2.0
// The seccomp filter of a sandboxed worker: refuses system calls that reach other processes, whose
// effects outlive this one, or that Landlock does not restrict. Call it in the first thread, before
// others are started.
#pragma once

#include <string>

namespace gantry {

/// From now on these calls fail with EPERM in this thread and the threads that it starts:
/// - sockets, except connected local pairs;
/// - new processes and programs, and new namespaces;
/// - signals, limits, priorities, scheduling and CPU sets of others than this process;
/// - the memory, the descriptors and the events of other processes, keys of the user;
/// - System V and POSIX message queues, semaphores and shared memory, which outlive a process;
/// - owners, permissions, times and attributes of files, files by handle;
/// - pushing input into a terminal (TIOCSTI), and io_uring, whose operations no filter sees.
/// Requires no_new_privs. Returns why the system permits no filter; empty: the filter is in force.
std::string install_seccomp_filter();

}  // namespace gantry
