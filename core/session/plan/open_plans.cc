// SPDX-License-Identifier: Apache-2.0
#include "session/plan/open_plans.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "base/value.h"
#include "session/plan/plan_report.h"

namespace gantry {
namespace {

// Compares bytes: values that are equal but differ in bytes (0.0, -0.0) only cost another plan.
bool has_same_elements(const gantry_value& given, const gantry_value& own) {
  if (given.kind != own.kind || given.dtype != own.dtype || given.shape != own.shape) return false;
  if (own.dtype == DType::kString) return given.strings == own.strings;
  if (given.device || given.view.size_bytes != own.view.size_bytes) return false;
  return own.view.size_bytes == 0 ||
         std::memcmp(given.view.data, own.view.data, own.view.size_bytes) == 0;
}

}  // namespace

OpenPlan::OpenPlan(const PlanSettings& settings, const OnnxModel& model, const OpenInputs& open,
                   const std::shared_ptr<MemoryBudget>& budget) {
  ImportedModel imported;
  imported.model = std::make_unique<OnnxModel>(model, open);
  imported.graph = imported.model->to_graph();
  planned_ = plan_model(settings.host, settings.config, settings.preference, std::move(imported),
                        settings.trace);
  require_complete(planned_, settings.preference);
  for (const GraphValue* input : planned_.graph->inputs) {
    const bool is_open = input->initial && open.names.contains(input->name);
    initial_.push_back(is_open ? input->initial : nullptr);
    is_rank_open_.push_back(open.ranks.contains(input->name));
  }
  const TraceSpan compiling(settings.trace, "load", "compile");
  BuildOptions build;
  build.threads = settings.threads;
  build.trace = settings.trace;
  build.model = planned_.model.get();
  BuiltProgram built = build_program(planned_, settings.preference, budget, build);
  planned_.placement.reset();
  release_unused_constants(*planned_.graph);
  executor_ = std::make_unique<Executor>(std::move(built.program), std::move(built.devices),
                                         settings.threads, settings.trace, settings.executor);
}

void OpenPlan::run(std::span<const ValueRef> defaults, std::span<const ValueRef> given,
                   std::span<ValueRef> outputs, const RunOptions& options,
                   std::span<const uint8_t> on_device) {
  // The session's defaults may be unaligned views of the model's file; kernels need aligned inputs.
  const auto is_own = [&](size_t i) {
    return initial_[i] && given[i] == defaults[i] && given[i] != initial_[i];
  };
  size_t first = 0;
  while (first < given.size() && !is_own(first)) ++first;
  if (first == given.size())
    return executor_->run(given, outputs, options, nullptr, nullptr, on_device);
  std::vector<ValueRef> aligned(given.begin(), given.end());
  for (size_t i = first; i < aligned.size(); ++i) {
    if (is_own(i)) aligned[i] = initial_[i];
  }
  executor_->run(aligned, outputs, options, nullptr, nullptr, on_device);
}

OpenPlans::OpenPlans(PlanSettings settings, const OnnxModel& model,
                     std::vector<SessionInput> inputs, std::shared_ptr<MemoryBudget> budget,
                     std::string subject)
    : settings_(std::move(settings)),
      model_(model),
      inputs_(std::move(inputs)),
      budget_(std::move(budget)),
      subject_(std::move(subject)) {}

bool OpenPlans::is_replaced(size_t input, std::span<const ValueRef> given) const {
  const ValueRef& own = inputs_[input].initial;
  return own && given[input] != own && !has_same_elements(*given[input], *own);
}

bool OpenPlans::has_axes(size_t input, std::span<const ValueRef> given) const {
  return inputs_[input].is_scalar && !given[input]->shape.empty();
}

bool OpenPlans::fits(const OpenPlan& plan, std::span<const ValueRef> given) const {
  for (size_t i = 0; i < given.size(); ++i) {
    if (!plan.opens_default(i) && is_replaced(i, given)) return false;
    if (!plan.opens_rank(i) && has_axes(i, given)) return false;
  }
  return true;
}

std::shared_ptr<OpenPlan> OpenPlans::plan_for(std::span<const ValueRef> given) {
  size_t first = 0;
  while (first < given.size() && !is_replaced(first, given) && !has_axes(first, given)) ++first;
  if (first == given.size()) return nullptr;
  std::shared_ptr<OpenPlan> plan = current();
  return plan && fits(*plan, given) ? plan : make(given);
}

std::shared_ptr<OpenPlan> OpenPlans::make(std::span<const ValueRef> given) {
  const MutexLock planning(planning_);
  std::shared_ptr<OpenPlan> before = current();
  if (before && fits(*before, given)) return before;
  const bool are_all_open = made_ >= kMostChosen;
  std::vector<size_t> causes;
  std::vector<size_t> defaults;
  std::vector<size_t> ranks;
  OpenInputs open{.all = false};
  for (size_t i = 0; i < given.size(); ++i) {
    const SessionInput& input = inputs_[i];
    const bool is_new = is_replaced(i, given) || has_axes(i, given);
    if (is_new) causes.push_back(i);
    if (input.initial && (is_new || are_all_open || (before && before->opens_default(i)))) {
      defaults.push_back(i);
      open.names.insert(input.name);
    }
    if (input.is_scalar && (is_new || are_all_open || (before && before->opens_rank(i)))) {
      ranks.push_back(i);
      open.ranks.insert(input.name);
    }
  }
  std::shared_ptr<OpenPlan> plan;
  try {
    const TraceSpan span(settings_.trace, "load", "plan for other inputs", subject_);
    plan = std::make_shared<OpenPlan>(settings_, model_, open, budget_);
  } catch (const Error& error) {
    throw error.in(subject_ + ", planned once more since the run gives " + names_in(causes) +
                   (ranks.empty() ? " another value" : " another value or rank") +
                   " than the model");
  }
  ++made_;
  tell(defaults, ranks);
  const MutexLock lock(mutex_);
  if (settings_.trace) traced_.push_back(plan);
  return current_ = plan;
}

std::shared_ptr<OpenPlan> OpenPlans::current() const {
  const MutexLock lock(mutex_);
  return current_;
}

std::vector<std::shared_ptr<OpenPlan>> OpenPlans::traced() const {
  const MutexLock lock(mutex_);
  return traced_;
}

std::string OpenPlans::names_in(const std::vector<size_t>& inputs) const {
  constexpr size_t kMostNamed = 3;
  std::string text;
  for (size_t i = 0; i < std::min(inputs.size(), kMostNamed); ++i)
    text += (text.empty() ? "\"" : ", \"") + inputs_[inputs[i]].name + "\"";
  return text + (inputs.size() > kMostNamed ? ", ..." : "");
}

void OpenPlans::tell(const std::vector<size_t>& defaults, const std::vector<size_t>& ranks) const {
  if (!ranks.empty()) {
    log(LogLevel::kInfo, subject_ + ": a run gives axes to " + names_in(ranks) +
                             ", which the model declares as a scalar, so it was planned once more "
                             "with inputs of any rank; runs that give scalars keep the first plan");
  }
  if (defaults.empty()) return;
  // Weights that are no constants cost speed, so they are a warning; a position or a flag is not.
  constexpr uint64_t kWarnFromBytes = uint64_t{1} << 20;
  uint64_t size_bytes = 0;
  for (const size_t input : defaults) size_bytes += inputs_[input].initial->view.size_bytes;
  log(size_bytes < kWarnFromBytes ? LogLevel::kInfo : LogLevel::kWarning,
      subject_ +
          ": a run gives inputs that have a value in the model another one, so the model "
          "was planned once more with " +
          std::to_string(defaults.size()) + " with " + std::to_string(size_bytes) + " bytes (" +
          names_in(defaults) +
          ") as inputs, of which nothing is computed at load time; runs that "
          "give none of them keep the first plan");
}

}  // namespace gantry
