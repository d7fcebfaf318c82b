// SPDX-License-Identifier: Apache-2.0
// Inputs that have a default in the model. The session's own plan has the defaults as constants, so
// that weights are folded, packed and fused. The first run that gives another value for one of them
// has the model planned once more, with that input as an input; later runs take the plan that fits
// what they give. Any thread.
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

/// What a plan is made with, as the session's first one was.
struct PlanSettings {
  Config config;
  Preference preference;
  HostPreference host;  ///< for folding
  uint32_t threads = 0;
  Trace* trace = nullptr;
  Executor::Options executor;
};

/// A plan in which some of the inputs that have a default are inputs. Immutable.
class OpenPlan {
 public:
  /// `defaults`: by input of the session. INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY: as loading.
  OpenPlan(const PlanSettings& settings, const OnnxModel& model, const OpenDefaults& open,
           const std::shared_ptr<MemoryBudget>& budget);

  /// As Executor::run. `defaults`: the session's own; where `given` has one of them, the plan's is
  /// taken.
  void run(std::span<const ValueRef> defaults, std::span<const ValueRef> given,
           std::span<ValueRef> outputs, const RunOptions& options, std::span<const uint8_t> left);
  [[nodiscard]] bool opens(size_t input) const { return initial_[input] != nullptr; }
  [[nodiscard]] Executor& executor() { return *executor_; }

 private:
  PlannedModel planned_;
  std::vector<ValueRef> initial_;  // by input: the default of one that is open, aligned; else null
  std::unique_ptr<Executor> executor_;
};

class DefaultPlans {
 public:
  /// Opens the model that `model` was read from. `defaults`: by input; null: it has none. `names`:
  /// of the inputs. `budget`: what the session's first plan takes its memory from. Requires that
  /// `model` outlives this.
  DefaultPlans(PlanSettings settings, const OnnxModel& model, std::vector<ValueRef> defaults,
               std::vector<std::string> names, std::shared_ptr<MemoryBudget> budget,
               std::string subject);

  /// The plan for a run that gives these values by input; null: each is the default, or of an input
  /// that has none, so that the session's own plan is right. Compares elements of what is given in
  /// place of a default. Makes the plan if there is none that fits, while others wait that need it
  /// too. Allocates nothing else. Errors: as loading, with what was replaced.
  std::shared_ptr<OpenPlan> plan_for(std::span<const ValueRef> given);
  [[nodiscard]] const std::vector<ValueRef>& defaults() const { return defaults_; }

  /// The plan that runs may take beside the session's own; null: none was needed yet.
  [[nodiscard]] std::shared_ptr<OpenPlan> current() const;
  /// Every plan that records of the trace may speak of.
  [[nodiscard]] std::vector<std::shared_ptr<OpenPlan>> traced() const;

 private:
  [[nodiscard]] bool is_replaced(size_t input, std::span<const ValueRef> given) const;
  [[nodiscard]] bool fits(const OpenPlan& plan, std::span<const ValueRef> given) const;
  std::shared_ptr<OpenPlan> make(std::span<const ValueRef> given);
  [[nodiscard]] std::string names_in(const std::vector<size_t>& inputs) const;
  void tell(const std::vector<size_t>& opened) const;

  static constexpr int kMostChosen = 3;  // plans that open just what was replaced; then all is open

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
