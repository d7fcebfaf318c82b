// SPDX-License-Identifier: Apache-2.0
#include "gantry/session.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <future>
#include <optional>
#include <set>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "base/fork.h"
#include "base/log.h"
#include "base/run_limits.h"
#include "base/start_async.h"
#include "base/thread_pool.h"
#include "base/value.h"
#include "onnx/model_writer.h"
#include "run/executor.h"
#include "session/input_values.h"
#include "session/model_metadata.h"
#include "session/plan/artefact_use.h"
#include "session/plan/build_program.h"
#include "session/plan/plan_model.h"
#include "session/plan/plan_report.h"
#include "session/runtime_impl.h"
#include "session/session_impl.h"
#include "session/trace_file.h"

namespace gantry {
namespace {

// Imports the model on another thread. Meanwhile this thread opens the providers, which takes the
// first session of a process as long.
std::future<ImportedModel> begin_import(const ModelSource& source, const ImportSettings& settings,
                                        Trace* trace) {
  return start_async([&source, &settings, trace, limits = load_limits()] {
    const LoadScope scope(limits);
    return import_model(source, settings, trace);
  });
}

// Returns heap memory freed after loading to the system, if it is enough to be worth a pass over
// the heap.
void trim_heap() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  constexpr size_t kTrimFromBytes = size_t{2} << 20;
  if (mallinfo2().fordblks >= kTrimFromBytes) malloc_trim(0);
#endif
}

}  // namespace

Session::Impl::Impl(Runtime& runtime, const ModelSource& source, const SessionOptions& options)
    : subject_(subject_of(source)) {
  const Activity activity;
  const RunLimits limits(options.cancel, options.timeout_ns);
  const LoadScope scope(&limits);
  Runtime::Impl& shared = runtime.impl();
  const Config config = shared.session_config(options);
  if (!config.session.profile.empty()) {
    trace_file_ = claim_trace_file(config.session.profile);
    trace_ = std::make_unique<Trace>();
  } else if (options.profile) {
    trace_ = std::make_unique<Trace>(0);
  }
  load(shared, config, source, options);
  for (size_t i = 0; i < inputs.size(); ++i) input_index.emplace(inputs[i].name, i);
  for (size_t i = 0; i < outputs.size(); ++i) output_index.emplace(outputs[i].name, i);
}

void Session::Impl::load(Runtime::Impl& shared, const Config& config, const ModelSource& source,
                         const SessionOptions& options) {
  const TraceSpan span(trace_.get(), "load", "load", subject_);
  const uint32_t threads = config.session.threads > 0
                               ? static_cast<uint32_t>(config.session.threads)
                               : hardware_threads();
  const ImportSettings importing = import_settings(shared.registry, config, options);
  ArtefactUse cache(config, source, options, importing, subject_, threads);
  std::future<ImportedModel> imported;
  if (!cache.may_have_plan()) imported = begin_import(source, importing, trace_.get());
  const Preference preference = resolve_preference(shared.registry, config, options.device);
  try {
    poll_load("the model was read");
    Executor::Options running{.stop_grace_ms = config.session.stop_grace_ms,
                              // Steps launched as one capture have no times of their own.
                              .capture = config.session.capture && !options.profile,
                              .give_back_more = [this] { give_back_idle(); }};
    const PlanSettings settings{config,  preference,   folding_host(shared.registry, config),
                                threads, trace_.get(), std::move(running)};
    if (!use_cached_plan(cache, preference)) {
      ImportedModel model =
          imported.valid() ? imported.get() : import_model(source, importing, trace_.get());
      planned_ = plan_model(settings.host, config, preference, std::move(model), trace_.get());
    }
    require_complete(planned_, preference, importing.operators.without_options);
    inputs = input_infos(*planned_.graph);
    for (const GraphValue* input : planned_.graph->inputs) initial.push_back(input->initial);
    outputs = declared_outputs();
    poll_load("kernels were compiled");
    compile(settings, cache);
  } catch (const Error& error) {
    throw with_subject(error);
  }
  for (const ConfigWarning& warning : planned_.warnings)
    log(warning.is_loud ? LogLevel::kWarning : LogLevel::kInfo, warning.text);
  if (preference.fallback == Fallback::kWarn) warn_of_fallback(options.device);
}

// From a complete plan to the executor.
void Session::Impl::compile(const PlanSettings& settings, ArtefactUse& cache) {
  const TraceSpan span(trace_.get(), "load", "compile");
  const auto budget = std::make_shared<MemoryBudget>(settings.config.session.memory_limit_bytes);
  BuildOptions build;
  build.threads = settings.threads;
  build.trace = trace_.get();
  build.model = planned_.model.get();
  build.artefact = cache.artefact(settings.preference, planned_);
  BuiltProgram built = build_program(planned_, settings.preference, budget, build);
  artefact = cache.finish(planned_);
  placement = describe(planned_, settings.preference, built.program->implementations());
  placement.copies = built.program->copies();
  planned_.placement.reset();  // only claim and compile calls need its graph views
  release_unused_constants(*planned_.graph);
  trim_heap();
  open_plans_ = make_open_plans(settings, budget);
  files_ = guard_files(*built.program, settings.preference, cache.watch());
  // Nothing plans it again, and it holds initializers that the application gave.
  if (!open_plans_) planned_.model.reset();
  executor = std::make_unique<Executor>(std::move(built.program), std::move(built.devices),
                                        settings.threads, trace_.get(), settings.executor);
}

// Null: every run has the inputs of the session's first plan.
std::unique_ptr<OpenPlans> Session::Impl::make_open_plans(
    PlanSettings settings, const std::shared_ptr<MemoryBudget>& budget) const {
  if (!planned_.model) return nullptr;
  // With a compiled-model cache scalars stay scalars: a start from the cache has no model to plan.
  std::set<std::string> scalars;
  if (settings.config.session.artefact_cache.empty()) scalars = planned_.model->scalar_inputs();
  if (!planned_.model->has_constant_defaults() && scalars.empty()) return nullptr;
  std::vector<SessionInput> others;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = inputs[i].name;
    others.push_back({name, initial[i], scalars.contains(name)});
  }
  // Resolved now: the runtime may have been destroyed when a run needs it.
  settings.host = [found = settings.host()] { return found; };
  return std::make_unique<OpenPlans>(std::move(settings), *planned_.model, std::move(others),
                                     budget, subject_);
}

// True: the cached plan of an earlier start is used, and the model need not be imported.
bool Session::Impl::use_cached_plan(ArtefactUse& cache, const Preference& preference) {
  if (!cache.may_have_plan()) return false;
  std::optional<PlannedModel> kept;
  {
    const TraceSpan span(trace_.get(), "load", "plan from the artefact");
    kept = cache.take_plan(preference);
  }
  if (!kept) return false;
  place_planned(*kept, preference, trace_.get());
  if (!kept->placement->complete()) {
    cache.refuse_plan("the providers no longer take all nodes of its plan");
    return false;
  }
  kept->warnings = preference.warnings;
  planned_ = std::move(*kept);
  return true;
}

Error Session::Impl::with_subject(const Error& error) const {
  return error.message().starts_with(subject_) ? error : error.in(subject_);
}

// Without the shapes inferred from default values: they need not hold for runs that replace a
// default.
std::vector<ValueInfo> Session::Impl::declared_outputs() const {
  const OnnxModel* model = planned_.model.get();
  if (!model || !model->has_constant_defaults() || model->declares_outputs())
    return output_infos(*planned_.graph);
  return output_infos(*OnnxModel(*model, OpenInputs{}).to_graph());
}

// Called by a run that has no memory left.
void Session::Impl::give_back_idle() const noexcept {
  if (executor) executor->give_back_idle();
  if (!open_plans_) return;
  if (const auto plan = open_plans_->current()) plan->executor().give_back_idle();
}

void Session::Impl::require_files() const {
  try {
    files_.require_unchanged();
  } catch (const Error& error) {
    throw with_subject(error);
  }
}

void Session::Impl::run(std::span<const ValueRef> given, std::span<ValueRef> made,
                        const RunOptions& options) {
  require_files();
  if (!open_plans_) {
    executor->run(given, made, options);
  } else {
    const RunLimits limits(options);
    const auto plan = plan_for(given, limits);
    plan ? plan->run(initial, given, made, limits.remaining(), {})
         : executor->run(given, made, limits.remaining());
  }
  require_files();
}

FileGuard Session::Impl::guard_files(const Program& program, const Preference& preference,
                                     std::shared_ptr<const FileWatch> artefact_file) const {
  const bool has_worker =
      std::any_of(preference.candidates.begin(), preference.candidates.end(),
                  [](const auto& candidate) { return candidate.provider->isolated(); });
  std::vector<std::shared_ptr<const FileWatch>> others;
  if (artefact_file) others.push_back(std::move(artefact_file));
  for (const auto& file : planned_.model ? planned_.model->files()
                                         : std::vector<std::shared_ptr<const MappedFile>>()) {
    const auto watch = file->watch();
    if (!watch) continue;
    watch->require_unchanged();  // packed and folded weights are all of one state of the file
    // A worker process maps the weights itself, and another plan would read them again.
    if (has_worker || open_plans_) others.push_back(watch);
  }
  return {program, std::move(others)};
}

std::shared_ptr<OpenPlan> Session::Impl::plan_for(std::span<const ValueRef> given,
                                                  const RunLimits& limits) const {
  if (!open_plans_) return nullptr;
  const LoadScope scope(&limits);
  return open_plans_->plan_for(given);
}

MemoryUse Session::Impl::memory() const {
  MemoryUse use = executor->memory();
  const auto plan = open_plans_ ? open_plans_->current() : nullptr;
  if (!plan) return use;
  const MemoryUse other = plan->executor().memory();
  use.weights += other.weights;
  use.arena += other.arena;
  use.pool += other.pool;
  return use;
}

std::vector<NodeTime> Session::Impl::profile() const {
  std::vector<NodeTime> times = executor->profile();
  if (!open_plans_) return times;
  for (const auto& plan : open_plans_->traced()) {
    for (NodeTime& row : plan->executor().profile()) {
      const auto same = std::find_if(times.begin(), times.end(), [&](const NodeTime& other) {
        return other.node == row.node && other.op_type == row.op_type && other.depth == row.depth &&
               other.provider == row.provider && other.device == row.device;
      });
      if (same == times.end()) {
        times.push_back(std::move(row));
      } else {
        same->runs += row.runs;
        same->total_ns += row.total_ns;
      }
    }
  }
  std::stable_sort(times.begin(), times.end(),
                   [](const NodeTime& a, const NodeTime& b) { return a.total_ns > b.total_ns; });
  return times;
}

void Session::Impl::reset_profile() const {
  executor->reset_profile();
  if (!open_plans_) return;
  for (const auto& plan : open_plans_->traced()) plan->executor().reset_profile();
}

Session::Impl::~Impl() {
  // A forked child has a copy of its parent's trace, which the parent writes.
  if (trace_file_.empty() || !executor || process_.is_elsewhere()) return;
  try {
    write_trace(trace_file_);
  } catch (const std::exception& error) {
    log(LogLevel::kError, error.what());
  }
}

void Session::Impl::write_trace(const std::filesystem::path& file) const {
  if (!trace_ || !trace_->keeps_records()) {
    throw Error(Code::kInvalidArgument,
                "there is no trace to write; set session.profile in the configuration to a file");
  }
  std::vector<const Program*> programs = {&executor->program()};
  const auto plans = open_plans_ ? open_plans_->traced() : std::vector<std::shared_ptr<OpenPlan>>();
  for (const auto& plan : plans) programs.push_back(&plan->executor().program());
  write_trace_file(file, *trace_, programs, subject_);
  if (trace_->dropped() > 0) {
    log(LogLevel::kWarning, file.string() + ": the trace was full; its last " +
                                std::to_string(trace_->dropped()) + " records are missing");
  }
}

void Session::Impl::warn_of_fallback(const std::string& device) const {
  const auto elsewhere =
      std::count_if(placement.nodes.begin(), placement.nodes.end(),
                    [](const NodePlacement& row) { return !row.instead_of.empty(); });
  if (elsewhere == 0) return;
  const std::string message = std::to_string(elsewhere) + " of " +
                              std::to_string(placement.nodes.size()) + " nodes do not run on " +
                              (device.empty() ? "the most preferred device" : device) +
                              "; see the session's placement for the reasons";
  log(LogLevel::kWarning, message);
}

size_t Session::Impl::index_of_input(const std::string& name) const {
  const auto found = input_index.find(name);
  if (found == input_index.end()) fail_unknown("input", name, inputs);
  return found->second;
}

size_t Session::Impl::index_of_output(const std::string& name) const {
  const auto found = output_index.find(name);
  if (found == output_index.end()) fail_unknown("output", name, outputs);
  return found->second;
}

void Session::Impl::check_input(size_t index, const Value& value) const {
  const gantry_value* given = value.handle().get();
  if (!open_plans_ || !open_plans_->is_scalar(index) || !given || given->shape.empty())
    return check_value("input", inputs[index], value);
  ValueInfo of_any_rank = inputs[index];
  of_any_rank.has_rank = false;
  check_value("input", of_any_rank, value);
}

void Session::Impl::check_output(size_t index, const Value& value) const {
  check_value("output", outputs[index], value);
}

Session::Session(Runtime& runtime, const ModelSource& model, const SessionOptions& options)
    : impl_(std::make_unique<Impl>(runtime, model, options)) {}
Session::~Session() {
  const Activity activity;
  abandon_if_forked(impl_);
  impl_.reset();
}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&& other) noexcept {
  abandon_if_forked(impl_);
  impl_ = std::move(other.impl_);
  return *this;
}

Session::Impl& Session::impl() const {
  if (!impl_) {
    throw Error(Code::kInvalidArgument,
                "expected a session, found one whose model was moved to another Session");
  }
  return *impl_;
}

const std::vector<ValueInfo>& Session::inputs() const { return impl().inputs; }
const std::vector<ValueInfo>& Session::outputs() const { return impl().outputs; }
const std::map<std::string, std::string>& Session::metadata() const {
  return impl().planned().metadata;
}
const Placement& Session::placement() const { return impl().placement; }
const ArtefactReport& Session::artefact() const { return impl().artefact; }
std::vector<NodeTime> Session::profile() const { return impl().profile(); }
void Session::reset_profile() { impl().reset_profile(); }
void Session::write_trace(const std::filesystem::path& file) const { impl().write_trace(file); }
MemoryUse Session::memory() const { return impl().memory(); }
std::string Session::graph_text() const { return to_text(*impl().planned().graph); }

std::vector<Value> Session::Impl::run_values(const Inputs& named, const RunOptions& options) {
  std::vector<ValueRef> given = initial;
  for (const auto& [name, value] : named) {
    const size_t index = index_of_input(name);
    check_input(index, value);
    given[index] = value.handle();
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i]) {
      throw Error(Code::kInvalidArgument, "input \"" + inputs[i].name + "\" is missing; expected " +
                                              expected_of(inputs[i]));
    }
  }
  std::vector<ValueRef> made(outputs.size());
  run(given, made, options);
  std::vector<Value> values;
  values.reserve(made.size());
  for (ValueRef& value : made) values.emplace_back(std::move(value));
  return values;
}

std::vector<Tensor> Session::Impl::run_tensors(const Inputs& named, const RunOptions& options) {
  const std::vector<Value> values = run_values(named, options);
  std::vector<Tensor> tensors;
  tensors.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].kind() != Kind::kTensor) {
      throw Error(Code::kInvalidArgument, "output \"" + outputs[i].name + "\" is a " +
                                              std::string(to_string(values[i].kind())) +
                                              ", no tensor; use run_values");
    }
    tensors.push_back(values[i].tensor());
  }
  return tensors;
}

std::vector<Value> Session::run_values(const Inputs& inputs, const RunOptions& options) {
  return impl().run_values(inputs, options);
}

std::vector<Tensor> Session::run(const Inputs& inputs, const RunOptions& options) {
  return impl().run_tensors(inputs, options);
}

void Session::run_async(Inputs inputs,
                        std::function<void(std::vector<Tensor>, std::exception_ptr)> done,
                        const RunOptions& options) {
  if (!done) {
    throw Error(Code::kInvalidArgument,
                "run_async: expected a function that takes the outputs, found an empty one");
  }
  using Clock = std::chrono::steady_clock;
  const Clock::time_point called = Clock::now();
  impl().pending.add(
      [impl = &impl(), inputs = std::move(inputs), done = std::move(done), options, called] {
        RunOptions rest = options;
        if (rest.timeout_ns) {
          const std::chrono::nanoseconds waited = Clock::now() - called;
          *rest.timeout_ns -= std::min(*rest.timeout_ns, static_cast<uint64_t>(waited.count()));
        }
        std::vector<Tensor> outputs;
        std::exception_ptr error;
        try {
          outputs = impl->run_tensors(inputs, rest);
        } catch (...) {
          error = std::current_exception();
        }
        done(std::move(outputs), error);
      });
}

std::future<std::vector<Tensor>> Session::run_async(Inputs inputs, const RunOptions& options) {
  auto promise = std::make_shared<std::promise<std::vector<Tensor>>>();
  std::future<std::vector<Tensor>> future = promise->get_future();
  run_async(
      std::move(inputs),
      [promise](std::vector<Tensor> outputs, const std::exception_ptr& error) {
        if (error) return promise->set_exception(error);
        promise->set_value(std::move(outputs));
      },
      options);
  return future;
}

namespace {

// The model as a session would plan it, placed but not compiled.
struct UncompiledPlan {
  UncompiledPlan(Runtime::Impl& shared, const ModelSource& model, const SessionOptions& options)
      : limits(options.cancel, options.timeout_ns), config(shared.session_config(options)) {
    const LoadScope scope(&limits);
    preference = resolve_preference(shared.registry, config, options.device);
    const ImportSettings importing = import_settings(shared.registry, config, options);
    planned = plan_model(folding_host(shared.registry, config), config, preference,
                         import_model(model, importing, nullptr), nullptr);
  }

  RunLimits limits;
  Config config;
  Preference preference;
  PlannedModel planned;
};

}  // namespace

Placement check(Runtime& runtime, const ModelSource& model, const SessionOptions& options) {
  const UncompiledPlan plan(runtime.impl(), model, options);
  return describe(plan.planned, plan.preference);
}

void write_optimized(Runtime& runtime, const ModelSource& model, const std::filesystem::path& file,
                     const SessionOptions& options, const ExternalTensors& external) {
  const UncompiledPlan plan(runtime.impl(), model, options);
  write_model(*plan.planned.graph, *plan.planned.model, file, external.file, external.least_bytes);
}

}  // namespace gantry
