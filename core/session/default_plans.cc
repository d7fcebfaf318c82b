// SPDX-License-Identifier: Apache-2.0
#include "session/default_plans.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "base/value.h"

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

OpenPlan::OpenPlan(const PlanSettings& settings, const OnnxModel& model, const OpenDefaults& open,
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

DefaultPlans::DefaultPlans(PlanSettings settings, const OnnxModel& model,
                           std::vector<ValueRef> defaults, std::vector<std::string> names,
                           std::shared_ptr<MemoryBudget> budget, std::string subject)
    : settings_(std::move(settings)),
      model_(model),
      defaults_(std::move(defaults)),
      names_(std::move(names)),
      budget_(std::move(budget)),
      subject_(std::move(subject)) {}

bool DefaultPlans::is_replaced(size_t input, std::span<const ValueRef> given) const {
  const ValueRef& own = defaults_[input];
  return own && given[input] != own && !has_same_elements(*given[input], *own);
}

bool DefaultPlans::fits(const OpenPlan& plan, std::span<const ValueRef> given) const {
  for (size_t i = 0; i < given.size(); ++i) {
    if (!plan.opens(i) && is_replaced(i, given)) return false;
  }
  return true;
}

std::shared_ptr<OpenPlan> DefaultPlans::plan_for(std::span<const ValueRef> given) {
  size_t first = 0;
  while (first < given.size() && !is_replaced(first, given)) ++first;
  if (first == given.size()) return nullptr;
  std::shared_ptr<OpenPlan> plan = current();
  return plan && fits(*plan, given) ? plan : make(given);
}

std::shared_ptr<OpenPlan> DefaultPlans::make(std::span<const ValueRef> given) {
  const MutexLock planning(planning_);
  std::shared_ptr<OpenPlan> before = current();
  if (before && fits(*before, given)) return before;
  std::vector<size_t> replaced;
  std::vector<size_t> opened;
  OpenDefaults open{.all = false, .names = {}};
  for (size_t i = 0; i < given.size(); ++i) {
    if (!defaults_[i]) continue;
    const bool is_new = is_replaced(i, given);
    if (is_new) replaced.push_back(i);
    if (!is_new && made_ < kMostChosen && !(before && before->opens(i))) continue;
    opened.push_back(i);
    open.names.insert(names_[i]);
  }
  std::shared_ptr<OpenPlan> plan;
  try {
    const TraceSpan span(settings_.trace, "load", "plan for other values of defaults", subject_);
    plan = std::make_shared<OpenPlan>(settings_, model_, open, budget_);
  } catch (const Error& error) {
    throw error.in(subject_ + ", planned once more since the run gives " + names_in(replaced) +
                   " another value than the model");
  }
  ++made_;
  tell(opened);
  const MutexLock lock(mutex_);
  if (settings_.trace) traced_.push_back(plan);
  return current_ = plan;
}

std::shared_ptr<OpenPlan> DefaultPlans::current() const {
  const MutexLock lock(mutex_);
  return current_;
}

std::vector<std::shared_ptr<OpenPlan>> DefaultPlans::traced() const {
  const MutexLock lock(mutex_);
  return traced_;
}

std::string DefaultPlans::names_in(const std::vector<size_t>& inputs) const {
  constexpr size_t kMostNamed = 3;
  std::string text;
  for (size_t i = 0; i < std::min(inputs.size(), kMostNamed); ++i)
    text += (text.empty() ? "\"" : ", \"") + names_[inputs[i]] + "\"";
  return text + (inputs.size() > kMostNamed ? ", ..." : "");
}

void DefaultPlans::tell(const std::vector<size_t>& opened) const {
  // Weights that are no constants cost speed, so they are a warning; a position or a flag is not.
  constexpr uint64_t kMany = uint64_t{1} << 20;
  uint64_t size_bytes = 0;
  for (const size_t input : opened) size_bytes += defaults_[input]->view.size_bytes;
  log(size_bytes < kMany ? LogLevel::kInfo : LogLevel::kWarning,
      subject_ +
          ": a run gives inputs that have a value in the model another one, so the model "
          "was planned once more with " +
          std::to_string(opened.size()) + " with " + std::to_string(size_bytes) + " bytes (" +
          names_in(opened) +
          ") as inputs, of which nothing is computed at load time; runs that "
          "give none of them keep the first plan");
}

}  // namespace gantry
