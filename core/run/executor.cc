// SPDX-License-Identifier: Apache-2.0
#include "run/executor.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>
#include <optional>
#include <unordered_map>

#include "base/elements.h"
#include "base/process_state.h"
#include "base/thread_pool.h"
#include "plugin/isolation/shared_tensor.h"
#include "plugin/provider.h"
#include "run/resident.h"

namespace gantry {
namespace {

// Everything that a hung device may still read or write: held until the process ends.
struct AbandonedRuns {
  static constexpr ProcessState kState = ProcessState::kAbandonedRuns;

  struct Run {
    std::shared_ptr<const DeviceTable> devices;
    std::shared_ptr<const Program> program;
    std::unique_ptr<ExecutionContext> context;
  };
  Mutex mutex;
  std::vector<Run> runs GANTRY_GUARDED_BY(mutex);
};

}  // namespace

// Holds a context for the duration of a run.
class Executor::Lease {
 public:
  Lease(Executor& executor, const RunLimits& limits)
      : executor_(executor), context_(executor.contexts_.acquire(limits)) {}
  ~Lease() { executor_.release(context_); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ExecutionContext& operator*() { return *context_; }

 private:
  Executor& executor_;
  ExecutionContext* context_;
};

Executor::Executor(std::unique_ptr<const Program> program,
                   std::shared_ptr<const DeviceTable> devices, uint32_t threads, Trace* trace,
                   const Options& options)
    : devices_(std::move(devices)),
      program_(std::move(program)),
      threads_(std::max(1U, threads)),
      trace_(trace),
      options_(options),
      contexts_(most_contexts(), [this](size_t number) { return make_context(number); }) {}

size_t Executor::most_contexts() noexcept { return std::max(2U, hardware_threads()); }

Executor::~Executor() {
  if (!devices_->is_hung()) return;
  for (auto& context : contexts_.remove_all()) hold_until_exit(std::move(context));
  hold_until_exit(nullptr);  // the program, for its constants
}

// A hung device may use the context, its program and its devices until the process ends.
void Executor::hold_until_exit(std::unique_ptr<ExecutionContext> context) const {
  AbandonedRuns& abandoned = process_state<AbandonedRuns>();
  const MutexLock lock(abandoned.mutex);
  abandoned.runs.push_back({devices_, program_, std::move(context)});
}

std::unique_ptr<ExecutionContext> Executor::make_context(size_t number) {
  const TraceSpan span(trace_, "run", "make a context");
  auto context = std::make_unique<ExecutionContext>(*program_, *devices_, threads_);
  RunResources& resources = context->resources();
  resources.grace_ms = options_.stop_grace_ms;
  resources.shared_devices = devices_;
  resources.give_back_others = [this] {
    if (options_.give_back_more) {
      options_.give_back_more();
    } else {
      give_back_idle();
    }
  };
  if (trace_) resources.attach(*trace_, number);
  return context;
}

void Executor::release(ExecutionContext* context) {
  RunResources& resources = context->resources();
  resources.mark->store(0, std::memory_order_relaxed);
  resources.mark = resources.own_mark;
  if (resources.is_abandoned()) {
    hold_until_exit(contexts_.remove(context));
  } else {
    contexts_.release(context);
  }
}

void Executor::give_back_idle() noexcept {
  contexts_.for_each_free([](ExecutionContext& context) { context.drop_memory(); });
}

// True of a value in host memory, and of one on the device of the memory space `space`, where the
// program makes or reads it.
bool Executor::is_in_place(const ValueRef& value, uint32_t space) const {
  return !value || !value->device ||
         (space != 0 && devices_->space(space).device == value->device->handle);
}

// A run with device tensors that cannot be used in place: copies them to and from host tensors.
void Executor::run_across(std::span<const ValueRef> inputs, std::span<ValueRef> outputs,
                          const RunOptions& options, const MakeOutput* make,
                          std::atomic<uint64_t>* mark, std::span<const uint8_t> on_device) {
  std::vector<ValueRef> given(inputs.begin(), inputs.end());
  std::vector<ValueRef> made(outputs.begin(), outputs.end());
  for (size_t i = 0; i < given.size(); ++i) {
    if (is_in_place(given[i], program_->resident_inputs()[i])) continue;
    static_cast<void>(space_of(*devices_, *given[i]));  // throws if not a device of the session
    given[i] = make_tensor(given[i]->dtype, given[i]->shape);
    copy_across(*inputs[i], *given[i]);
  }
  for (size_t i = 0; i < made.size(); ++i) {
    if (is_in_place(made[i], program_->resident_outputs()[i])) continue;
    static_cast<void>(space_of(*devices_, *made[i]));
    made[i] = make_tensor(made[i]->dtype, made[i]->shape);
  }
  run(given, made, options, make, mark, on_device);
  for (size_t i = 0; i < made.size(); ++i) {
    if (!is_in_place(outputs[i], program_->resident_outputs()[i])) {
      copy_across(*made[i], *outputs[i]);
    } else {
      outputs[i] = made[i];
    }
  }
}

bool Executor::is_exposed(const gantry_value& input) const {
  if (input.kind != GANTRY_KIND_TENSOR || !may_hold_indices(input.dtype)) return false;
  uint64_t offset = 0;
  for (uint32_t i = 1; i <= devices_->shared_region_count(); ++i) {
    if (devices_->shared_region(i).shared()->find(input.view.data, input.view.size_bytes, offset))
      return true;
  }
  return false;
}

// In a forked child: providers that say so run there, others stayed in the parent.
void Executor::require_providers_here() const {
  for_each_step(*program_, [](const Step& step, const std::string&, uint32_t) {
    if (!step.owner || !step.owner->is_elsewhere()) return;
    throw Error(Code::kUnavailable,
                step.label +
                    ": this process was forked from the one that made the session, and "
                    "provider \"" +
                    step.provider +
                    "\" stayed there; make the session in this process, or start workers with "
                    "spawn instead of fork");
  });
}

void Executor::run(std::span<const ValueRef> inputs, std::span<ValueRef> outputs,
                   const RunOptions& options, const MakeOutput* make, std::atomic<uint64_t>* mark,
                   std::span<const uint8_t> on_device) {
  require_not_forked();
  if (process_.is_elsewhere()) [[unlikely]]
    require_providers_here();
  const Activity activity;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool is_safe = inputs[i]->kind == GANTRY_KIND_TENSOR &&
                         inputs[i]->dtype != DType::kBool && !is_exposed(*inputs[i]);
    if (is_safe) continue;
    ValueRef safe = is_exposed(*inputs[i]) ? copy_tensor(*inputs[i]) : inputs[i];
    safe = with_plain_bools(std::move(safe));
    if (safe == inputs[i]) continue;
    std::vector<ValueRef> given(inputs.begin(), inputs.end());
    given[i] = std::move(safe);
    return run(given, outputs, options, make, mark, on_device);
  }
  bool are_in_place = true;
  for (size_t i = 0; i < inputs.size(); ++i)
    are_in_place = are_in_place && is_in_place(inputs[i], program_->resident_inputs()[i]);
  for (size_t i = 0; i < outputs.size(); ++i)
    are_in_place = are_in_place && is_in_place(outputs[i], program_->resident_outputs()[i]);
  if (!are_in_place) [[unlikely]]
    return run_across(inputs, outputs, options, make, mark, on_device);
  const TraceSpan span(trace_, "run", "run");
  if (DeviceHealth::any_blocked()) [[unlikely]]
    devices_->require_good();
  const RunLimits limits(options);
  Lease lease(*this, limits);
  ExecutionContext& context = *lease;
  RunResources& resources = context.resources();
  if (limits.can_stop()) resources.limits = limits;
  std::copy(outputs.begin(), outputs.end(), resources.bound_outputs.begin());
  resources.make_output = make;
  resources.on_device_outputs = on_device;
  resources.has_made_on_device = false;
  resources.made_output_bytes = 0;
  if (mark) resources.mark = mark;
  try {
    execute(context, inputs, outputs);
  } catch (...) {
    fail(context, inputs);
  }
  if (limits.can_stop()) resources.limits = {};
  std::fill(resources.bound_outputs.begin(), resources.bound_outputs.end(), nullptr);
}

void Executor::execute(ExecutionContext& context, std::span<const ValueRef> inputs,
                       std::span<ValueRef> outputs) {
  Frame& frame = context.main();
  RunResources& resources = context.resources();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const uint32_t slot = program_->inputs()[i];
    if (inputs[i]->kind == GANTRY_KIND_TENSOR && inputs[i]->dtype != DType::kString) {
      frame.set_view(slot, *inputs[i]);
    } else {
      frame.set_ref(slot, inputs[i]);
    }
    frame.slot(slot).is_resident = inputs[i]->device != nullptr;
  }
  write_signature(context, inputs, outputs, context.signature);
  if (!context.plan || frame.has_diverged() || context.plan->signature != context.signature) {
    const TraceSpan span(trace_, "run", "find the memory plan");
    context.plan = find_plan(context.signature);
    if (context.plan) resources.trim();
    frame.bind(context.plan.get());
  }
  const bool captures = context.plan && options_.capture && program_->has_capturable_segments();
  frame.use(captures ? &context.captures().of(context.plan) : nullptr);
  resources.team().execute([&] {
    if (context.plan) {
      run_planned(context);
    } else {
      run_recorded(context);
    }
  });
  resources.synchronize();
  for (size_t i = 0; i < resources.on_device_outputs.size(); ++i) {
    if (resources.on_device_outputs[i] != 0) outputs[i] = resources.bound_outputs[i];
  }
  collect_outputs(context, outputs);
  frame.reset();
}

// Called in a catch block: waits for the devices, resets the context and throws the error of the
// run.
void Executor::fail(ExecutionContext& context, std::span<const ValueRef> inputs) {
  RunResources& resources = context.resources();
  const std::optional<Error> late = resources.quiesce();
  if (resources.is_abandoned()) {
    context.held_inputs.assign(inputs.begin(), inputs.end());
  } else {
    resources.limits = {};
    Frame& frame = context.main();
    frame.use(nullptr);
    frame.record(nullptr);
    frame.reset();
    frame.bind(nullptr);
    context.captures().clear();
    context.plan.reset();
    std::fill(resources.bound_outputs.begin(), resources.bound_outputs.end(), nullptr);
  }
  try {
    throw;
  } catch (const Error& error) {
    const bool was_stopped =
        error.code() == Code::kCancelled || error.code() == Code::kDeadlineExceeded;
    if (resources.is_abandoned()) {
      throw Error(error.code(),
                  error.message() + ", and a device of it did not come to rest within " +
                      std::to_string(options_.stop_grace_ms) + " ms and will not be used any more");
    }
    // A device's error is the cause of host errors after it.
    if (late && !was_stopped) throw Error(*late);
    throw;
  } catch (const std::bad_alloc&) {
    throw Error(Code::kOutOfMemory, "no host memory for the run");
  }
}

void Executor::write_signature(const ExecutionContext& context, std::span<const ValueRef> inputs,
                               std::span<const ValueRef> outputs, Signature& signature) const {
  signature.clear();
  const auto add_address = [&](size_t number, const void* data) {
    signature.push_back(static_cast<int64_t>(number));
    signature.push_back(static_cast<int64_t>(reinterpret_cast<uintptr_t>(data)));
  };
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] && outputs[i]->device) {
      add_address(i, outputs[i]->view.data);
    } else if (context.resources().is_on_device(static_cast<uint32_t>(i))) {
      add_address(i, nullptr);  // tells it from a plan that copies the output to the host
    }
  }
  signature.push_back(-1);  // end of the outputs
  for (size_t i = 0; i < inputs.size(); ++i) {
    const gantry_value& value = *inputs[i];
    signature.push_back(static_cast<int64_t>(value.kind) << 32 | static_cast<int64_t>(value.dtype));
    signature.push_back(static_cast<int64_t>(value.shape.size()));
    signature.insert(signature.end(), value.shape.begin(), value.shape.end());
    if (value.device) add_address(i, value.view.data);
    if (!program_->signature_inputs()[i] || !value.view.data) continue;
    // Values that decide shapes are small. Of a large one the first bytes distinguish most cases;
    // a run that differs behind them diverges from its plan.
    const size_t bytes = std::min<size_t>(value.view.size_bytes, 256);
    const size_t first = signature.size();
    signature.resize(first + (bytes + sizeof(int64_t) - 1) / sizeof(int64_t));
    std::memcpy(signature.data() + first, value.view.data, bytes);
  }
}

void Executor::run_planned(ExecutionContext& context) {
  context.main().rebind();
  context.main().run();
}

void Executor::run_recorded(ExecutionContext& context) {
  const TraceSpan span(trace_, "run", "first run of these shapes");
  Frame& frame = context.main();
  Recorder recorder;
  recorder.slots.resize(program_->slots().size());
  recorder.scratch.resize(program_->steps().size());
  frame.record(&recorder);
  frame.run();
  frame.record(nullptr);
  // The new tensor's address is not in this run's signature. The next run's signature has it.
  if (context.resources().has_made_on_device) return;
  std::shared_ptr<const MemoryPlan> plan = frame.make_plan(recorder, context.signature);
  const MutexLock lock(mutex_);
  plans_.push_front(std::move(plan));
  if (plans_.size() > kMostPlans) plans_.pop_back();
}

std::shared_ptr<const MemoryPlan> Executor::find_plan(const Signature& signature) {
  const MutexLock lock(mutex_);
  const auto found = std::find_if(plans_.begin(), plans_.end(),
                                  [&](const auto& plan) { return plan->signature == signature; });
  if (found == plans_.end()) return nullptr;
  plans_.splice(plans_.begin(), plans_, found);
  return plans_.front();
}

void Executor::collect_outputs(ExecutionContext& context, std::span<ValueRef> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OutputSource& source = program_->outputs()[i];
    const Slot& slot = context.main().slot(source.slot);
    // A kernel may set a value of its own (output_value) although memory was bound.
    if (source.direct && slot.ref && (!outputs[i] || outputs[i] == slot.ref)) {
      outputs[i] = slot.ref;
      continue;
    }
    const gantry_value& value = slot.get();
    if (!outputs[i]) {
      outputs[i] = share(value);
      continue;
    }
    if (outputs[i]->dtype != value.dtype || outputs[i]->shape != value.shape ||
        value.dtype == DType::kString) {
      throw Error(Code::kInvalidArgument, "output \"" + program_->slots()[source.slot].name +
                                              "\": the bound tensor is " +
                                              gantry::describe(*outputs[i]) + ", this run makes " +
                                              gantry::describe(value));
    }
    if (value.view.size_bytes > 0)
      std::memcpy(outputs[i]->view.data, value.view.data, value.view.size_bytes);
  }
}

namespace {

// Every call of the frame and of the frames of its bodies.
void for_each_call(Frame& frame, const std::function<void(const Step&, StepCall&)>& take) {
  const std::vector<Step>& steps = frame.program().steps();
  for (uint32_t i = 0; i < steps.size(); ++i) {
    take(steps[i], frame.calls()[i]);
    for (uint32_t body = 0; body < frame.program().bodies(i).size(); ++body)
      for_each_call(frame.child(i, body), take);
  }
}

}  // namespace

std::vector<NodeTime> Executor::profile() const {
  std::vector<NodeTime> times;
  if (!trace_) return times;
  std::unordered_map<const Step*, size_t> rows;
  for_each_step(*program_, [&](const Step& step, const std::string& name, uint32_t depth) {
    rows[&step] = times.size();
    times.push_back({name, step.op_type, step.provider, step.device, 0, 0, depth});
  });
  contexts_.for_each([&](ExecutionContext& context) {
    for_each_call(context.main(), [&](const Step& step, const StepCall& call) {
      times[rows[&step]].runs += call.runs;
      times[rows[&step]].total_ns += call.total_ns;
    });
  });
  std::stable_sort(times.begin(), times.end(),
                   [](const NodeTime& a, const NodeTime& b) { return a.total_ns > b.total_ns; });
  return times;
}

void Executor::reset_profile() {
  contexts_.for_each([](ExecutionContext& context) {
    for_each_call(context.main(), [](const Step&, StepCall& call) {
      call.total_ns = 0;
      call.runs = 0;
    });
  });
}

MemoryUse Executor::memory() const {
  MemoryUse use;
  use.weights = program_->constant_bytes();
  contexts_.for_each([&](ExecutionContext& context) {
    const MemoryUse part = context.resources().memory();
    use.arena += part.arena;
    use.pool += part.pool;
  });
  return use;
}

}  // namespace gantry
