// SPDX-License-Identifier: Apache-2.0
// Plans for inputs with a default (an initializer of the same name). The session's first plan has
// the defaults as constants, so that weights are folded, packed and fused. The first run that
// passes another value plans the model once more, with that default as a real input. Later runs use
// a plan that matches their inputs. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/trace.h"
#include "run/executor.h"
#include "session/build_program.h"
#include "session/plan_model.h"

namespace gantry {

/// The settings of the session's first plan, with which further plans are made.
struct PlanSettings {
  Config config;
  Preference preference;
  HostPreference host;  ///< for constant folding
  uint32_t threads = 0;
  Trace* trace = nullptr;
  Executor::Options executor;
};

/// A plan in which some defaults are open: inputs instead of constants. Immutable.
class OpenPlan {
 public:
  /// `open`: the inputs that are open. INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY: as loading.
  OpenPlan(const PlanSettings& settings, const OnnxModel& model, const OpenDefaults& open,
           const std::shared_ptr<MemoryBudget>& budget);

  /// As Executor::run. `defaults`: the session's; where `given` has one of them, the plan's aligned
  /// copy is passed.
  void run(std::span<const ValueRef> defaults, std::span<const ValueRef> given,
           std::span<ValueRef> outputs, const RunOptions& options,
           std::span<const uint8_t> on_device);
  [[nodiscard]] bool opens(size_t input) const { return initial_[input] != nullptr; }
  [[nodiscard]] Executor& executor() { return *executor_; }

 private:
  PlannedModel planned_;
  std::vector<ValueRef> initial_;  // by input: the aligned default if the input is open; else null
  std::unique_ptr<Executor> executor_;
};

class DefaultPlans {
 public:
  /// `defaults`: by input; null: the input has none. `names`: of the inputs. `budget`: the
  /// session's memory budget. `model` must outlive this.
  DefaultPlans(PlanSettings settings, const OnnxModel& model, std::vector<ValueRef> defaults,
               std::vector<std::string> names, std::shared_ptr<MemoryBudget> budget,
               std::string subject);

  /// The plan for a run with these inputs. Null: no default is replaced by another value, so the
  /// session's first plan is right. Compares the elements of a given value with those of the
  /// default. If no plan matches, makes one, while other threads that need it wait; else allocates
  /// nothing. Errors: as loading, with the names of the replaced defaults.
  std::shared_ptr<OpenPlan> plan_for(std::span<const ValueRef> given);
  [[nodiscard]] const std::vector<ValueRef>& defaults() const { return defaults_; }

  /// The latest plan besides the session's first; null: none was needed yet.
  [[nodiscard]] std::shared_ptr<OpenPlan> current() const;
  /// Every plan whose steps may be in the trace; empty without a trace.
  [[nodiscard]] std::vector<std::shared_ptr<OpenPlan>> traced() const;

 private:
  [[nodiscard]] bool is_replaced(size_t input, std::span<const ValueRef> given) const;
  [[nodiscard]] bool fits(const OpenPlan& plan, std::span<const ValueRef> given) const;
  std::shared_ptr<OpenPlan> make(std::span<const ValueRef> given);
  [[nodiscard]] std::string names_in(const std::vector<size_t>& inputs) const;
  void tell(const std::vector<size_t>& opened) const;

  static constexpr int kMostChosen = 3;  // plans that open replaced defaults only; then all

  const PlanSettings settings_;
  const OnnxModel& model_;
  const std::vector<ValueRef> defaults_;
  const std::vector<std::string> names_;
  const std::shared_ptr<MemoryBudget> budget_;
  const std::string subject_;
  Mutex planning_;  // before mutex_
  int made_ GANTRY_GUARDED_BY(planning_) = 0;
  mutable Mutex mutex_;
  std::shared_ptr<OpenPlan> current_ GANTRY_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<OpenPlan>> traced_ GANTRY_GUARDED_BY(mutex_);  // empty without trace
};

}  // namespace gantry
