// SPDX-License-Identifier: Apache-2.0
// The implementation of Session: the model and graph from which its program borrows, and the
// executor.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/fork.h"
#include "base/run_limits.h"
#include "base/trace.h"
#include "gantry/session.h"
#include "run/executor.h"
#include "session/file_guard.h"
#include "session/pending_runs.h"
#include "session/plan/open_plans.h"
#include "session/plan/plan_model.h"

namespace gantry {

class ArtefactUse;

class Session::Impl {
 public:
  Impl(Runtime& runtime, const ModelSource& source, const SessionOptions& options);
  /// Writes the trace file, if there is to be one; a failure is logged.
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  [[nodiscard]] const PlannedModel& planned() const { return planned_; }
  /// INVALID_ARGUMENT: no such name; the message lists the names.
  [[nodiscard]] size_t index_of_input(const std::string& name) const;
  [[nodiscard]] size_t index_of_output(const std::string& name) const;
  /// INVALID_ARGUMENT: kind, element type, rank or an extent differs from the model's.
  void check_input(size_t index, const Value& value) const;
  void check_output(size_t index, const Value& value) const;
  /// See Session::allocate.
  [[nodiscard]] Tensor allocate(const std::string& name, std::vector<int64_t> shape) const;
  [[nodiscard]] Tensor allocate_bytes(uint64_t size_bytes) const;
  [[nodiscard]] Tensor allocate_on(const std::string& device, DType dtype,
                                   std::vector<int64_t> shape) const;
  [[nodiscard]] Tensor borrow_on(const std::string& device, DType dtype, std::vector<int64_t> shape,
                                 void* data, std::shared_ptr<const void> owner) const;
  [[nodiscard]] Tensor adopt(DlpackDevice device,
                             const std::function<ForeignMemory(uintptr_t)>& hand_over) const;
  /// The space of a device with memory of its own. INVALID_ARGUMENT: the session uses no such
  /// device; the message begins with `subject`.
  [[nodiscard]] uint32_t space_on(const std::string& subject, const std::string& device) const;
  /// INVALID_ARGUMENT: the configuration names no trace file; else as Session::write_trace.
  void write_trace(const std::filesystem::path& file) const;

  /// As Executor::run, with the plan that matches the inputs. `given`: by input, complete, checked.
  void run(std::span<const ValueRef> given, std::span<ValueRef> made, const RunOptions& options);
  /// As Session::run_values and Session::run.
  std::vector<Value> run_values(const Inputs& given, const RunOptions& options);
  std::vector<Tensor> run_tensors(const Inputs& given, const RunOptions& options);
  /// INVALID_MODEL: a file that runs read has changed since it was loaded. Called before and after
  /// each run.
  void require_files() const;
  /// The plan for a run that replaces defaults of inputs; null: the session's first plan, whose
  /// executor is `executor`. See OpenPlans::plan_for. The run's limits hold for planning too.
  [[nodiscard]] std::shared_ptr<OpenPlan> plan_for(std::span<const ValueRef> given,
                                                   const RunLimits& limits) const;
  /// Sum over all plans.
  [[nodiscard]] MemoryUse memory() const;
  [[nodiscard]] std::vector<NodeTime> profile() const;
  void reset_profile() const;

 private:
  void load(Runtime::Impl& shared, const Config& config, const ModelSource& source,
            const SessionOptions& options);
  bool use_cached_plan(ArtefactUse& cache, const Preference& preference);
  void compile(const PlanSettings& settings, ArtefactUse& cache);
  [[nodiscard]] std::unique_ptr<OpenPlans> make_open_plans(
      PlanSettings settings, const std::shared_ptr<MemoryBudget>& budget) const;
  [[nodiscard]] Error with_subject(const Error& error) const;
  [[nodiscard]] FileGuard guard_files(const Program& program, const Preference& preference,
                                      std::shared_ptr<const FileWatch> artefact_file) const;
  void warn_of_fallback(const std::string& device) const;
  [[nodiscard]] std::vector<ValueInfo> declared_outputs() const;
  void give_back_idle() const noexcept;
  std::string subject_;
  ProcessBound process_;
  std::filesystem::path trace_file_;  // empty: none
  std::unique_ptr<Trace> trace_;      // declared before the executor, which records in it
  PlannedModel planned_;

 public:
  std::vector<ValueInfo> inputs;
  std::vector<ValueRef> initial;  ///< by input: its default; null: none, a run must pass a value
  std::vector<ValueInfo> outputs;
  std::map<std::string, size_t> input_index;
  std::map<std::string, size_t> output_index;
  Placement placement;
  ArtefactReport artefact;
  std::unique_ptr<Executor> executor;

 private:
  FileGuard files_;
  std::unique_ptr<OpenPlans> open_plans_;  // null: no input could be given otherwise

 public:
  PendingRuns pending{Executor::most_contexts()};  ///< last: its destructor waits for runs
};

}  // namespace gantry
