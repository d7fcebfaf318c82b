// SPDX-License-Identifier: Apache-2.0
// All process-wide state: this list, and the one way to access it. All other state belongs to a
// Runtime or to an object made from one.
//
// Exit: the objects are never destroyed, since static runtimes, threads and providers may use them
// until the process ends; the system frees their memory.
// Fork: the child has copies of the objects but none of the threads. If something was going on in
// the parent, base/fork refuses every session and run in the child, and what the child destroys is
// leaked: a thread that the child does not have may have held its locks.
//
// Flags and counters, atomics in their sources: base/thread_pool (runs of several threads),
// base/trace (the number of the last trace), plugin/device_health (a device is blocked),
// base/fork (activities, a fork that is going on, this is a child), base/file_watch (mapped ranges,
// which a signal handler reads), plugin/host_functions (bytes that providers hold),
// plugin/huge_pages (time of the last slow allocation). Made once and then constant: the schemas
// that models use (onnx/schema/schema_store), the out-of-memory error (plugin/error).
#pragma once

#include <cstdint>
#include <type_traits>

namespace gantry {

/// One entry per object: its owner, the only source file that accesses it, and the users of the
/// owner.
enum class ProcessState : uint8_t {
  /// base/log: level and handler. Used everywhere. A child writes to the same handler.
  kLog,
  /// base/mapped_file: the mapping of every model file, by address. onnx, artefact, and isolated
  /// providers, which pass the file to their process.
  kMappedFiles,
  /// base/block_cache: large blocks that tensors freed. base/value only.
  kBlockCache,
  /// base/pool_workers: number of workers of the thread pool. base/thread_pool only.
  kPoolWorkers,
  /// plugin/packed: packed weights by content, shared by sessions. Providers, through the host
  /// table; some release them as late as process exit.
  kPackedWeights,
  /// plugin/packed_memory: the mapping that small packed weights share. plugin/packed only.
  kPackedMemory,
  /// plugin/huge_pages: small pages to collapse into huge pages, and the thread that does so.
  /// Packed weights. In a child pages stay small. The library cannot be unloaded while the thread
  /// may run (core/CMakeLists.txt: nodelete).
  kHugePages,
  /// plugin/open_providers: one provider object for each library. Registries of all runtimes. A
  /// child does not destroy providers.
  kOpenProviders,
  /// plugin/library: all opened libraries, which are never closed. plugin/registry, worker.
  kOpenLibraries,
  /// plugin/crash_marks: the file that marks whose code is running. Runs and calls of providers.
  /// The
  /// process that made the file removes it at exit; a child does not touch it.
  kCrashMarks,
  /// plugin/isolation/crash_counter: number of crashes of worker processes. Isolated providers.
  kCrashCounter,
  /// run/executor: contexts, programs and devices that a hung device may still use. Executors.
  kAbandonedRuns,
  /// session/trace_file: file names of traces in use. Profiled sessions.
  kTraceFiles,
};

/// The object of type T, made on first use. Any thread; the object does its own locking. Requires
/// `static constexpr ProcessState kState` in T, a type of the owner's source file.
template <class T>
T& process_state() {
  static_assert(std::is_same_v<decltype(T::kState), const ProcessState>,
                "state of the process has its row in ProcessState");
  static T* const instance = new T;
  return *instance;
}

}  // namespace gantry
