// SPDX-License-Identifier: Apache-2.0
// A proxy for a provider in a worker process: the same function table, in which each call is a
// message and its answer. The proxy's devices use host memory, whatever the provider's own devices
// use: the worker copies tensors to them. If the worker crashes, its calls fail with
// PROVIDER_CRASHED, and the next call starts another worker. Any thread.
#pragma once

#include <gantry/provider.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fork.h"
#include "base/mutex.h"
#include "plugin/isolation/background_work.h"
#include "plugin/isolation/constant_store.h"
#include "plugin/isolation/crash_counter.h"
#include "plugin/isolation/isolation.h"
#include "plugin/isolation/shared_arena.h"
#include "plugin/isolation/worker_process.h"

namespace gantry {

class IsolatedProvider {
 public:
  /// The provider that the worker opens.
  struct Subject {
    std::string name;
    WorkerOpen open;
  };
  /// A worker and its number, from 1.
  struct Worker {
    std::shared_ptr<WorkerProcess> process;
    uint64_t number = 0;
  };

  /// Reads a whole answer. Throws an Error with what is wrong with it, "2 outputs, expected 1", or
  /// OUT_OF_MEMORY.
  using ReadAnswer = std::function<void(MessageReader&)>;

  /// Starts the worker and opens the provider there. UNAVAILABLE: in quarantine, or there is no
  /// worker program; PROVIDER_CRASHED; DEADLINE_EXCEEDED: start_timeout_ms, or the limits of the
  /// load of this thread; CANCELLED: likewise; else the provider's error.
  IsolatedProvider(Subject subject, IsolationSettings settings);
  ~IsolatedProvider();
  IsolatedProvider(const IsolatedProvider&) = delete;
  IsolatedProvider& operator=(const IsolatedProvider&) = delete;

  /// Valid as long as this object.
  [[nodiscard]] gantry_provider_api table();
  /// Why its devices are blocked (quarantine); empty: they are not.
  [[nodiscard]] std::string blocked() const { return crash_counter_.quarantine(); }
  /// The parts of the configured sandbox that the system did not permit; empty: none.
  [[nodiscard]] const std::string& missing() const { return opened_.missing; }

  /// PluginProvider::operators_json in the worker. Errors as call().
  std::string operators_json(const std::string& options);

  /// The worker, started again if it has ended. If `stop` ends the wait for the start, the start
  /// goes on. Errors as the constructor, and the code of `stop`.
  Worker worker(const StopQuestion& stop);
  /// Makes a call, and counts a crash of the worker in it. `what`: names the call in messages.
  /// Errors as WorkerProcess::call. PROVIDER_CRASHED: a malformed answer, which ends the worker.
  void call(const Worker& worker, const std::string& what, const MessageWriter& request,
            const std::vector<int>& descriptors, const WorkerProcess::Patience& patience,
            const ReadAnswer& read);
  /// Makes a claim or compile call, and sends the descriptors of segments that the worker does not
  /// have. `head`: the message before the WorkerAsk. A call that `stop` ends also ends the worker,
  /// which does not count as a crash.
  void ask(const Worker& worker, const std::string& what, MessageWriter head, uint32_t device,
           const std::string& options, const MessageWriter& graph,
           const ConstantStore::Segments& segments, const StopQuestion& stop,
           const ReadAnswer& read);
  /// A new number for a kernel.
  uint64_t next_kernel();

  [[nodiscard]] const std::shared_ptr<SharedArena>& arena() const { return arena_; }
  [[nodiscard]] const std::shared_ptr<ConstantStore>& constants() const { return constants_; }
  [[nodiscard]] const IsolationSettings& settings() const { return settings_; }
  [[nodiscard]] const std::string& name() const { return subject_.name; }

 private:
  void start(const StopQuestion& stop);
  void note_end(const WorkerProcess& process, bool is_crash);
  void report_devices(const gantry_device_sink& sink) const;
  void claim(const gantry_claim_request& request);
  void close() noexcept;

  Subject subject_;
  IsolationSettings settings_;
  CrashCounter crash_counter_;
  std::shared_ptr<SharedArena> arena_;
  std::shared_ptr<ConstantStore> constants_;
  ProcessBound process_;
  Mutex mutex_;
  Worker worker_ GANTRY_GUARDED_BY(mutex_);
  bool is_open_ GANTRY_GUARDED_BY(mutex_) = false;     // whether `worker_` has opened the provider
  BackgroundWork starting_ GANTRY_GUARDED_BY(mutex_);  // the start of the next worker
  std::atomic<bool> is_closing_ = false;
  WorkerOpened opened_;  // by the first worker; constant once the constructor has returned
  uint64_t next_kernel_ GANTRY_GUARDED_BY(mutex_) = 1;
};

/// Compiles in the worker. `out` is a proxy kernel, compiled again in each new worker. Errors as
/// IsolatedProvider::call. (isolated_kernel.cc)
void compile_isolated(IsolatedProvider& provider, const gantry_compile& args, gantry_kernel& out);

}  // namespace gantry
