// SPDX-License-Identifier: Apache-2.0
// Plans for inputs of which a run gives something else than the session's first plan has. That plan
// has defaults (initializers of the same name) as constants, so that weights are folded, packed and
// fused, and inputs that the model declares as scalars, without axes. The first run that passes
// another value, or a tensor with axes for a scalar, plans the model once more with that input
// open. Later runs use a plan that matches their inputs. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/trace.h"
#include "run/executor.h"
#include "session/plan/build_program.h"
#include "session/plan/plan_model.h"

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

/// A plan in which some inputs are open: inputs instead of constants, or of any rank. Immutable.
class OpenPlan {
 public:
  /// INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY: as loading.
  OpenPlan(const PlanSettings& settings, const OnnxModel& model, const OpenInputs& open,
           const std::shared_ptr<MemoryBudget>& budget);

  /// As Executor::run. `defaults`: the session's; where `given` has one of them, the plan's aligned
  /// copy is passed.
  void run(std::span<const ValueRef> defaults, std::span<const ValueRef> given,
           std::span<ValueRef> outputs, const RunOptions& options,
           std::span<const uint8_t> on_device);
  /// Whether a run may give the input another value than its default.
  [[nodiscard]] bool opens_default(size_t input) const { return initial_[input] != nullptr; }
  /// Whether a run may give the input, declared as a scalar, axes.
  [[nodiscard]] bool opens_rank(size_t input) const { return is_rank_open_[input]; }
  [[nodiscard]] Executor& executor() { return *executor_; }

 private:
  PlannedModel planned_;
  std::vector<ValueRef> initial_;   // by input: the aligned default if the input is open; else null
  std::vector<bool> is_rank_open_;  // by input
  std::unique_ptr<Executor> executor_;
};

/// What a session has of an input that a plan may open.
struct SessionInput {
  std::string name;
  ValueRef initial;        ///< its default; null: it has none
  bool is_scalar = false;  ///< without a default, and declared as a scalar
};

class OpenPlans {
 public:
  /// `budget`: the session's memory budget. `model` must outlive this.
  OpenPlans(PlanSettings settings, const OnnxModel& model, std::vector<SessionInput> inputs,
            std::shared_ptr<MemoryBudget> budget, std::string subject);

  /// The plan for a run with these inputs. Null: the session's first plan is right. Compares the
  /// elements of a given value with those of the default. If no plan matches, makes one, while
  /// other threads that need it wait; else allocates nothing. Errors: as loading, with the names of
  /// the inputs that are given otherwise.
  std::shared_ptr<OpenPlan> plan_for(std::span<const ValueRef> given);
  /// Whether a run may give the input axes, though the model declares it as a scalar.
  [[nodiscard]] bool is_scalar(size_t input) const { return inputs_[input].is_scalar; }

  /// The latest plan besides the session's first; null: none was needed yet.
  [[nodiscard]] std::shared_ptr<OpenPlan> current() const;
  /// Every plan whose steps may be in the trace; empty without a trace.
  [[nodiscard]] std::vector<std::shared_ptr<OpenPlan>> traced() const;

 private:
  [[nodiscard]] bool is_replaced(size_t input, std::span<const ValueRef> given) const;
  [[nodiscard]] bool has_axes(size_t input, std::span<const ValueRef> given) const;
  [[nodiscard]] bool fits(const OpenPlan& plan, std::span<const ValueRef> given) const;
  std::shared_ptr<OpenPlan> make(std::span<const ValueRef> given);
  [[nodiscard]] std::string names_in(const std::vector<size_t>& inputs) const;
  void tell(const std::vector<size_t>& defaults, const std::vector<size_t>& ranks) const;

  static constexpr int kMostChosen = 3;  // plans that open what is given otherwise only; then all

  const PlanSettings settings_;
  const OnnxModel& model_;
  const std::vector<SessionInput> inputs_;
  const std::shared_ptr<MemoryBudget> budget_;
  const std::string subject_;
  Mutex planning_;  // before mutex_
  int made_ GANTRY_GUARDED_BY(planning_) = 0;
  mutable Mutex mutex_;
  std::shared_ptr<OpenPlan> current_ GANTRY_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<OpenPlan>> traced_ GANTRY_GUARDED_BY(mutex_);  // empty without trace
};

}  // namespace gantry
