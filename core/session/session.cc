// SPDX-License-Identifier: Apache-2.0
#include "gantry/session.h"

#include <algorithm>
#include <future>
#include <optional>
#include <system_error>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "base/log.h"
#include "base/value.h"
#include "plugin/host.h"
#include "schedule/executor.h"
#include "schedule/thread_pool.h"
#include "session/artefact_use.h"
#include "session/build_program.h"
#include "session/given_values.h"
#include "session/model_facts.h"
#include "session/plan_model.h"
#include "session/runtime_impl.h"
#include "session/session_impl.h"
#include "session/trace_file.h"

namespace gantry {
namespace {

// A model is read on a thread of its own: meanwhile this one opens the providers, which the first
// session of a process waits for as long.
std::future<ImportedModel> begin_import(const ModelSource& source, Trace* trace) {
  const auto import = [&source, trace] { return import_model(source, trace); };
  try {
    return std::async(std::launch::async, import);
  } catch (const std::system_error&) {  // no thread to be had
    return std::async(std::launch::deferred, import);
  }
}

// Gives up the memory of computed constants that no run reads: providers have made of them what
// they want. What the graph's text shows of large ones is their type.
void release_unused_constants(const Graph& graph) {
  constexpr uint64_t kLarge = 4096;
  for (const auto& value : graph.values()) {
    const ValueRef& constant = value->constant;
    if (!constant || constant.use_count() > 1 || constant->is_mapped ||
        constant->kind != GANTRY_KIND_TENSOR || constant->dtype == DType::kString ||
        constant->view.size_bytes < kLarge)
      continue;
    constant->owner.reset();
    constant->view.data = nullptr;
  }
  for (const auto& node : graph.nodes()) {
    for (const Graph* body : node->bodies()) release_unused_constants(*body);
  }
}

// Gives what loading needed, and nobody needs any more, back to the system, where it is worth
// looking through all of the heap.
void trim_heap() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  constexpr size_t kMuch = size_t{2} << 20;  // bytes that are free
  if (mallinfo2().fordblks >= kMuch) malloc_trim(0);
#endif
}

}  // namespace

Session::Impl::Impl(Runtime& runtime, const ModelSource& source, const SessionOptions& options)
    : subject_(subject_of(source)) {
  Runtime::Impl& shared = runtime.impl();
  const Config config = shared.session_config(options);
  if (!config.session.profile.empty()) {
    trace_file_ = claim_trace_file(config.session.profile);
    trace_ = std::make_unique<Trace>();
  } else if (options.profile) {
    trace_ = std::make_unique<Trace>(0);
  }
  load(shared, config, source, options.device, options.profile);
  for (size_t i = 0; i < inputs.size(); ++i) input_index.emplace(inputs[i].name, i);
  for (size_t i = 0; i < outputs.size(); ++i) output_index.emplace(outputs[i].name, i);
}

void Session::Impl::load(Runtime::Impl& shared, const Config& config, const ModelSource& source,
                         const std::string& device, bool times_nodes) {
  const TraceSpan span(trace_.get(), "load", "load", subject_);
  const uint32_t threads = config.session.threads > 0
                               ? static_cast<uint32_t>(config.session.threads)
                               : hardware_threads();
  ArtefactUse cache(config, source, device, subject_, threads);
  std::future<ImportedModel> imported;
  if (!cache.may_have_plan()) imported = begin_import(source, trace_.get());
  const Preference preference = resolve_preference(shared.registry, config, device);
  try {
    if (!take_kept_plan(cache, preference)) {
      ImportedModel model = imported.valid() ? imported.get() : import_model(source, trace_.get());
      planned_ =
          plan_model(shared.registry, config, preference, std::move(model), true, trace_.get());
    }
    require_complete(planned_, preference);
    inputs = input_infos(*planned_.graph);
    for (const GraphValue* input : planned_.graph->inputs) initial.push_back(input->initial);
    outputs = output_infos(*planned_.graph);
    const TraceSpan compiling(trace_.get(), "load", "compile");
    BuildOptions build;
    build.threads = threads;
    build.trace = trace_.get();
    build.model = planned_.model.get();
    build.artefact = cache.artefact(preference, planned_);
    BuiltProgram built = build_program(planned_, preference, config, build);
    artefact = cache.finish(planned_);
    placement = describe(planned_, preference);
    placement.copies = built.program->copies();
    planned_.placement.reset();  // its views were for the providers
    release_unused_constants(*planned_.graph);
    trim_heap();
    executor = std::make_unique<Executor>(
        std::move(built.program), std::move(built.devices), threads, trace_.get(),
        Executor::Options{.stop_grace_ms = config.session.stop_grace_ms,
                          // Of steps that are launched as one nobody knows the times.
                          .capture = config.session.capture && !times_nodes});
  } catch (const Error& error) {
    throw error.message().starts_with(subject_) ? error : error.in(subject_);
  }
  for (const ConfigWarning& warning : planned_.warnings)
    log(warning.is_loud ? LogLevel::kWarning : LogLevel::kInfo, warning.text);
  if (preference.fallback == Fallback::kWarn) warn_of_fallback(device);
  tell_of_initial_values();
}

// True: the plan of an earlier start was taken, and the model need not be read.
bool Session::Impl::take_kept_plan(ArtefactUse& cache, const Preference& preference) {
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

void Session::Impl::tell_of_initial_values() const {
  // Weights cost speed when they are no constants; a position or a flag does not.
  constexpr uint64_t kMany = uint64_t{1} << 20;
  std::vector<ValueInfo> replaceable;
  uint64_t size_bytes = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!initial[i]) continue;
    replaceable.push_back(inputs[i]);
    size_bytes += initial[i]->view.size_bytes;
  }
  if (replaceable.empty()) return;
  const size_t count = replaceable.size();
  replaceable.resize(std::min<size_t>(count, 3));
  log(size_bytes < kMany ? LogLevel::kInfo : LogLevel::kWarning,
      subject_ + ": a run may replace initializers that are inputs too, " + std::to_string(count) +
          " with " + std::to_string(size_bytes) + " bytes (" + names_of(replaceable) +
          (count > 3 ? ", ..." : "") +
          "), so nothing is computed from them at load time. If no run does, take them out of the "
          "model's inputs");
}

Session::Impl::~Impl() {
  if (trace_file_.empty() || !executor) return;
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
  write_trace_file(file, *trace_, executor->program(), subject_);
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
  host_table().log(GANTRY_LOG_WARNING, {message.data(), message.size()});
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
  check_value("input", inputs[index], value);
}

void Session::Impl::check_output(size_t index, const Value& value) const {
  check_value("output", outputs[index], value);
}

Session::Session(Runtime& runtime, const ModelSource& model, const SessionOptions& options)
    : impl_(std::make_unique<Impl>(runtime, model, options)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

const std::vector<ValueInfo>& Session::inputs() const { return impl_->inputs; }
const std::vector<ValueInfo>& Session::outputs() const { return impl_->outputs; }
const std::map<std::string, std::string>& Session::metadata() const {
  return impl_->planned().metadata;
}
const Placement& Session::placement() const { return impl_->placement; }
const ArtefactReport& Session::artefact() const { return impl_->artefact; }
std::vector<NodeTime> Session::profile() const { return impl_->executor->profile(); }
void Session::reset_profile() { impl_->executor->reset_profile(); }
void Session::write_trace(const std::filesystem::path& file) const { impl_->write_trace(file); }
MemoryUse Session::memory() const { return impl_->executor->memory(); }
std::string Session::graph_text() const { return to_text(*impl_->planned().graph); }

std::vector<Value> Session::run_values(const Inputs& inputs, const RunOptions& options) {
  std::vector<ValueRef> given = impl_->initial;
  for (const auto& [name, value] : inputs) {
    const size_t index = impl_->index_of_input(name);
    impl_->check_input(index, value);
    given[index] = value.handle();
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i]) {
      throw Error(Code::kInvalidArgument, "input \"" + impl_->inputs[i].name +
                                              "\" is missing; expected " +
                                              expected_of(impl_->inputs[i]));
    }
  }
  std::vector<ValueRef> made(impl_->outputs.size());
  impl_->executor->run(given, made, options);
  std::vector<Value> values;
  values.reserve(made.size());
  for (ValueRef& value : made) values.emplace_back(std::move(value));
  return values;
}

std::vector<Tensor> Session::run(const Inputs& inputs, const RunOptions& options) {
  const std::vector<Value> values = run_values(inputs, options);
  std::vector<Tensor> tensors;
  tensors.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].kind() != Kind::kTensor) {
      throw Error(Code::kInvalidArgument, "output \"" + impl_->outputs[i].name + "\" is a " +
                                              std::string(to_string(values[i].kind())) +
                                              ", no tensor; use run_values");
    }
    tensors.push_back(values[i].tensor());
  }
  return tensors;
}

Placement check(Runtime& runtime, const ModelSource& model, const SessionOptions& options) {
  Runtime::Impl& shared = runtime.impl();
  const Config config = shared.session_config(options);
  const Preference preference = resolve_preference(shared.registry, config, options.device);
  return describe(
      plan_model(shared.registry, config, preference, import_model(model, nullptr), false, nullptr),
      preference);
}

}  // namespace gantry
