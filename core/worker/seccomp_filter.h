// SPDX-License-Identifier: Apache-2.0
// The system calls that a sandboxed worker may not make: what reaches other processes or outlives
// this one, and what Landlock does not look at. Call it in the first thread, before others are
// started.
#pragma once

#include <string>

namespace gantry {

/// From here on these fail in this thread, and in those that it starts, with EPERM:
/// - sockets but for local pairs that keep their connection;
/// - new processes and programs, and new namespaces;
/// - signals, limits, priorities, scheduling and CPU sets of others than this process;
/// - the memory, the descriptors and the events of other processes, keys of the user;
/// - System V and POSIX message queues, semaphores and shared memory, which outlive a process;
/// - owners, permissions, times and attributes of files, files by handle;
/// - input that is put into a terminal, and io_uring, whose calls no filter sees.
/// Requires that no_new_privs is set. The result says why the system permits no filter; empty: it
/// is in force.
std::string install_seccomp_filter();

}  // namespace gantry
