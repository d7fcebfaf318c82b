// SPDX-License-Identifier: Apache-2.0
// A provider that stands for one in a worker process: the same table of functions, each of which is
// a message there and back. Its devices use host memory, whatever those of the real one do: the
// worker brings tensors to them. When the worker ends before its time, the calls in it fail with
// PROVIDER_CRASHED, and the next call starts another. Any thread.
#pragma once

#include <gantry/provider.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "plugin/isolation/constant_store.h"
#include "plugin/isolation/crash_ladder.h"
#include "plugin/isolation/isolation.h"
#include "plugin/isolation/shared_arena.h"
#include "plugin/isolation/work_apart.h"
#include "plugin/isolation/worker_process.h"

namespace gantry {

class IsolatedProvider {
 public:
  /// What the worker is told of the provider.
  struct Subject {
    std::string name;
    WorkerOpen open;
  };
  /// A worker and how many there were before it.
  struct Worker {
    std::shared_ptr<WorkerProcess> process;
    uint64_t number = 0;
  };

  /// Reads all of an answer. An Error but OUT_OF_MEMORY says what is wrong with it: "2 outputs,
  /// expected 1".
  using ReadAnswer = std::function<void(MessageReader&)>;

  /// Starts the worker and opens the provider there. UNAVAILABLE: in quarantine, or there is no
  /// worker program; PROVIDER_CRASHED, DEADLINE_EXCEEDED; CANCELLED or DEADLINE_EXCEEDED by the
  /// limits of the load that this thread is part of; else what the provider says.
  IsolatedProvider(Subject subject, IsolationSettings settings);
  ~IsolatedProvider();
  IsolatedProvider(const IsolatedProvider&) = delete;
  IsolatedProvider& operator=(const IsolatedProvider&) = delete;

  /// Valid as long as this object.
  [[nodiscard]] gantry_provider_api table();
  /// Why its devices cannot be used any more; empty: they can.
  [[nodiscard]] std::string blocked() const { return ladder_.quarantine(); }
  /// What of the sandbox that was asked for the system did not permit the first worker; empty:
  /// nothing.
  [[nodiscard]] const std::string& missing() const { return opened_.missing; }

  /// The worker, started again if need be: where `stop` ends the wait for that, the start goes on.
  /// Errors as the constructor, and what `stop` says.
  Worker worker(const StopQuestion& stop);
  /// A call whose end of the worker is noted. `what`: of the provider, for messages. Errors as
  /// WorkerProcess::call. A malformed answer costs the worker: PROVIDER_CRASHED.
  void call(const Worker& worker, const std::string& what, const MessageWriter& request,
            const std::vector<int>& descriptors, const WorkerProcess::Patience& patience,
            const ReadAnswer& read);
  /// A call about a graph: the descriptors of segments that the worker lacks go with it. `head`:
  /// the message in front of the ask. A call that `stop` ends costs the worker, which counts as no
  /// crash.
  void ask(const Worker& worker, const std::string& what, MessageWriter head, uint32_t device,
           const std::string& options, const MessageWriter& graph,
           const ConstantStore::Segments& segments, const StopQuestion& stop,
           const ReadAnswer& read);
  /// A number for a kernel, used once.
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
  CrashLadder ladder_;
  std::shared_ptr<SharedArena> arena_;
  std::shared_ptr<ConstantStore> constants_;
  Mutex mutex_;
  Worker worker_ GANTRY_GUARDED_BY(mutex_);
  bool is_open_ GANTRY_GUARDED_BY(mutex_) = false;  // the provider, in `worker_`
  WorkApart starting_ GANTRY_GUARDED_BY(mutex_);    // of the next worker
  std::atomic<bool> is_closing_ = false;
  WorkerOpened opened_;  // by the first worker; constant once the constructor has returned
  uint64_t next_kernel_ GANTRY_GUARDED_BY(mutex_) = 1;
};

/// Compiles there; the kernel that `out` becomes is built again in each new worker. Errors as
/// IsolatedProvider::call. (isolated_kernel.cc)
void compile_isolated(IsolatedProvider& provider, const gantry_compile& args, gantry_kernel& out);

}  // namespace gantry
