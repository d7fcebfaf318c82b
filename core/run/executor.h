// SPDX-License-Identifier: Apache-2.0
// Runs a program: caches execution contexts and memory plans, and uses one of each for every run.
// Any thread; runs may overlap.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "base/fork.h"
#include "base/mutex.h"
#include "gantry/session.h"
#include "program/program.h"
#include "run/context_pool.h"
#include "run/execution_context.h"

namespace gantry {

class Executor {
 public:
  struct Options {
    uint64_t stop_grace_ms = 2000;  ///< see RunResources::quiesce
    bool capture = true;            ///< use captures on devices that support them; see CaptureCache
    /// called by a run that finds no memory left, to free memory of others with the same budget;
    /// null: give_back_idle()
    std::function<void()> give_back_more = {};
  };
  /// `threads`: number of threads that one run may use. `trace`: takes the time of every step and
  /// may keep records; null: no times; must outlive the executor.
  Executor(std::unique_ptr<const Program> program, std::shared_ptr<const DeviceTable> devices,
           uint32_t threads, Trace* trace, const Options& options);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// The number of runs that may go on at once.
  static size_t most_contexts() noexcept;

  /// Runs once. Waits for a free context. Allocates nothing if all outputs are set and the
  /// signature is known. Device tensors are used in place if the program reads or makes the value
  /// on that device only (Program::resident_inputs, resident_outputs), and copied otherwise.
  /// `inputs`: by graph input, checked by the caller.
  /// `outputs`: by graph output; a set entry is a tensor to fill, an empty one is set to a new
  /// value.
  /// `make`: makes the memory of direct outputs (OutputSource::direct) that are not set; null: heap
  /// memory.
  /// `mark`: receives Step::mark of each kernel that runs; null: the mark of this process does.
  /// `on_device`: by graph output, not 0: the output stays on the device that makes it, in the
  /// tensor of `outputs`, or in a new one if that is not set or has another shape; empty: no output
  /// does. Errors: of kernels and devices; CANCELLED, DEADLINE_EXCEEDED.
  void run(std::span<const ValueRef> inputs, std::span<ValueRef> outputs, const RunOptions& options,
           const MakeOutput* make = nullptr, std::atomic<uint64_t>* mark = nullptr,
           std::span<const uint8_t> on_device = {});

  [[nodiscard]] const Program& program() const { return *program_; }
  [[nodiscard]] const DeviceTable& devices() const { return *devices_; }
  /// The same, for objects that outlive the executor.
  [[nodiscard]] const std::shared_ptr<const DeviceTable>& shared_devices() const {
    return devices_;
  }
  /// Times of the steps, bodies included, longest first; empty without a trace.
  [[nodiscard]] std::vector<NodeTime> profile() const;
  void reset_profile();
  [[nodiscard]] MemoryUse memory() const;
  /// Frees the memory of contexts that no run uses.
  void give_back_idle() noexcept;

 private:
  class Lease;
  std::unique_ptr<ExecutionContext> make_context(size_t number);
  void hold_until_exit(std::unique_ptr<ExecutionContext> context) const;
  /// Whether the tensor may hold indices and is in memory that a worker process can write: the
  /// worker could change an index while a kernel uses it.
  [[nodiscard]] bool is_exposed(const gantry_value& input) const;
  void require_providers_here() const;
  void execute(ExecutionContext& context, std::span<const ValueRef> inputs,
               std::span<ValueRef> outputs);
  [[noreturn]] void fail(ExecutionContext& context, std::span<const ValueRef> inputs);
  void release(ExecutionContext* context);
  void write_signature(const ExecutionContext& context, std::span<const ValueRef> inputs,
                       std::span<const ValueRef> outputs, Signature& signature) const;
  void run_across(std::span<const ValueRef> inputs, std::span<ValueRef> outputs,
                  const RunOptions& options, const MakeOutput* make, std::atomic<uint64_t>* mark,
                  std::span<const uint8_t> on_device);
  [[nodiscard]] bool is_in_place(const ValueRef& value, uint32_t space) const;
  void run_planned(ExecutionContext& context);
  void run_recorded(ExecutionContext& context);
  std::shared_ptr<const MemoryPlan> find_plan(const Signature& signature);
  void collect_outputs(ExecutionContext& context, std::span<ValueRef> outputs);

  static constexpr size_t kMostPlans = 16;

  ProcessBound process_;
  std::shared_ptr<const DeviceTable> devices_;
  std::shared_ptr<const Program> program_;
  uint32_t threads_;
  Trace* trace_;
  Options options_;
  Mutex mutex_;
  // Most recently used first.
  std::list<std::shared_ptr<const MemoryPlan>> plans_ GANTRY_GUARDED_BY(mutex_);
  ContextPool contexts_;  // last: its contexts use the rest
};

}  // namespace gantry
