// SPDX-License-Identifier: Apache-2.0
// The state of which a process has one, whatever runtimes and sessions there are: this list, and
// the one way to reach it. Everything else belongs to a Runtime or to what a Runtime made.
//
// Exit: the objects are never destroyed, since runtimes that are static objects, threads and
// providers may use them until the process ends; the system takes back what they hold.
// Fork: the child has copies, and none of the threads. Once a provider has been opened, base/fork
// refuses every session and run in the child. What it destroys of what it has inherited is left as
// it is: a thread that the child lacks may have held any of the locks.
//
// Flags and counters, atomics in their sources: base/thread_pool (runs of several threads),
// base/trace (the number of the last trace), plugin/device_health (a device is blocked),
// base/fork (this is a child), base/file_watch (mapped ranges, which a signal handler reads),
// plugin/host_functions (bytes that providers hold),
// plugin/huge_pages (when they were last slow to get). Made once and then constant: the schemas
// that models have asked for (onnx/schema/schema_store), the error for want of memory
// (plugin/error).
#pragma once

#include <cstdint>
#include <type_traits>

namespace gantry {

/// Each with its owner, the only source that reaches it, and then who uses it through the owner.
enum class ProcessState : uint8_t {
  /// base/log: level and handler. Everybody. A child writes to the same handler.
  kLog,
  /// base/mapped_file: the mapping of every model file, by address. onnx, artefact, and isolated
  /// providers, which hand the file to their process.
  kMappedFiles,
  /// base/block_cache: large blocks that tensors gave back. base/value alone.
  kBlockCache,
  /// base/pool_workers: how many workers the thread pool may make. base/thread_pool alone.
  kPoolWorkers,
  /// plugin/packed: packed weights, by content, so that sessions share them. Providers, by the host
  /// table; they release as late as the end of the process.
  kPackedWeights,
  /// plugin/packed_memory: the mapping that small packed weights share. plugin/packed alone.
  kPackedMemory,
  /// plugin/huge_pages: small pages to be gathered into huge ones, and whether a thread is at it.
  /// Packed weights. In a child they stay small. The library cannot be unloaded while the thread
  /// may run (core/CMakeLists.txt: nodelete).
  kHugePages,
  /// plugin/open_providers: one provider object for each library. Registries of all runtimes. A
  /// child does not destroy providers.
  kOpenProviders,
  /// plugin/library: every library that was opened; none is closed. plugin/registry, worker.
  kOpenLibraries,
  /// plugin/crash_marks: the file that says whose code runs. Runs and calls of providers. Removed
  /// at exit by the process that made it; a child leaves it alone.
  kCrashMarks,
  /// plugin/isolation/crash_ladder: how often a provider's process has crashed. Isolated providers.
  kCrashLadder,
  /// run/executor: contexts, programs and devices that a hung device may still use. Executors.
  kAbandonedRuns,
  /// session/trace_file: files of traces that are taken already. Profiled sessions.
  kTraceFiles,
};

/// The object of a state, made when first asked for. Any thread; the object locks for itself.
/// Requires `static constexpr ProcessState kState` in T, a type of the owner's source.
template <class T>
T& process_state() {
  static_assert(std::is_same_v<decltype(T::kState), const ProcessState>,
                "state of the process has its row in ProcessState");
  static T* const instance = new T;
  return *instance;
}

}  // namespace gantry
