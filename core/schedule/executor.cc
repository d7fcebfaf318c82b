// SPDX-License-Identifier: Apache-2.0
#include "schedule/executor.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>
#include <optional>
#include <unordered_map>

#include "plugin/fork.h"
#include "schedule/resident.h"
#include "schedule/thread_pool.h"

namespace gantry {

// A context for the length of a run.
class Executor::Lease {
 public:
  Lease(Executor& executor, const RunLimits& limits)
      : executor_(executor), context_(executor.acquire(limits)) {}
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
      most_contexts_(std::max(2U, hardware_threads())) {}

Executor::~Executor() {
  if (!devices_->is_hung()) return;
  for (auto& context : contexts_) keep_for_good(std::move(context));
  keep_for_good(nullptr);  // the program, for its constants
}

// A device that does not come to rest may use the context, and what it was made
// from, for ever.
void Executor::keep_for_good(std::unique_ptr<ExecutionContext> context) const {
  struct Kept {
    std::shared_ptr<const DeviceTable> devices;
    std::shared_ptr<const Program> program;
    std::unique_ptr<ExecutionContext> context;
  };
  static std::mutex mutex;
  static auto* const all = new std::vector<Kept>;
  const std::lock_guard lock(mutex);
  all->push_back({devices_, program_, std::move(context)});
}

// Waits until a context is free or may be made.
void Executor::wait_for_place(std::unique_lock<std::mutex>& lock, const RunLimits& limits) {
  const auto has_place = [&] { return !free_.empty() || contexts_.size() < most_contexts_; };
  if (!limits.can_stop()) {
    freed_.wait(lock, has_place);
    return;
  }
  while (!freed_.wait_for(lock, std::chrono::milliseconds(5), has_place)) {
    if (const Code code = limits.stop_code(); code != Code::kOk) throw stop_error(code);
  }
}

ExecutionContext* Executor::acquire(const RunLimits& limits) {
  {
    std::unique_lock lock(mutex_);
    if (free_.empty()) wait_for_place(lock, limits);
    if (!free_.empty()) {
      ExecutionContext* context = free_.back();
      free_.pop_back();
      return context;
    }
    contexts_.push_back(nullptr);  // the place is taken while the context is
                                   // made without the lock
  }
  std::unique_ptr<ExecutionContext> made;
  try {
    const TraceSpan span(trace_, "run", "make a context");
    made = std::make_unique<ExecutionContext>(*program_, *devices_, threads_);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    contexts_.erase(std::find(contexts_.begin(), contexts_.end(), nullptr));
    freed_.notify_one();
    throw;
  }
  made->grace_ms = options_.stop_grace_ms;
  made->shared_devices = devices_;
  made->give_back_others = [this] { give_back_idle(); };
  const std::lock_guard lock(mutex_);
  free_.reserve(most_contexts_);
  const auto place = std::find(contexts_.begin(), contexts_.end(), nullptr);
  if (trace_) made->attach(*trace_, static_cast<size_t>(place - contexts_.begin()));
  *place = std::move(made);
  return place->get();
}

void Executor::release(ExecutionContext* context) {
  context->mark->store(0, std::memory_order_relaxed);
  context->mark = context->own_mark;
  std::unique_ptr<ExecutionContext> abandoned;
  {
    const std::lock_guard lock(mutex_);
    if (context->is_abandoned()) {
      const auto place = std::find_if(contexts_.begin(), contexts_.end(),
                                      [&](const auto& other) { return other.get() == context; });
      abandoned = std::move(*place);
      contexts_.erase(place);
    } else {
      free_.push_back(context);
    }
  }
  freed_.notify_one();
  if (abandoned) keep_for_good(std::move(abandoned));
}

// Memory of contexts that no run uses, for one that has none left.
void Executor::give_back_idle() noexcept {
  const std::lock_guard lock(mutex_);
  for (ExecutionContext* context : free_) context->drop_memory();
}

// True of host memory, and of memory of the device that the value is made or read on.
bool Executor::is_at_home(const ValueRef& value, uint32_t home) const {
  return !value || !value->home ||
         (home != 0 && devices_->space(home).device == value->home->handle);
}

// A run some of whose tensors lie in the memory of a device that does not read or make them, or not
// alone: the run has tensors of the host in their place.
void Executor::run_across(std::span<const ValueRef> inputs, std::span<ValueRef> outputs,
                          const RunOptions& options, const MakeOutput* make,
                          std::atomic<uint64_t>* mark, std::span<const uint8_t> left) {
  std::vector<ValueRef> given(inputs.begin(), inputs.end());
  std::vector<ValueRef> made(outputs.begin(), outputs.end());
  for (size_t i = 0; i < given.size(); ++i) {
    if (is_at_home(given[i], program_->input_homes()[i])) continue;
    static_cast<void>(space_of(*devices_, *given[i]));  // throws if it is none of the session's
    given[i] = make_tensor(given[i]->dtype, given[i]->shape);
    copy_across(*inputs[i], *given[i]);
  }
  for (size_t i = 0; i < made.size(); ++i) {
    if (is_at_home(made[i], program_->output_homes()[i])) continue;
    static_cast<void>(space_of(*devices_, *made[i]));
    made[i] = make_tensor(made[i]->dtype, made[i]->shape);
  }
  run(given, made, options, make, mark, left);
  for (size_t i = 0; i < made.size(); ++i) {
    if (!is_at_home(outputs[i], program_->output_homes()[i])) {
      copy_across(*made[i], *outputs[i]);
    } else {
      outputs[i] = made[i];
    }
  }
}

void Executor::run(std::span<const ValueRef> inputs, std::span<ValueRef> outputs,
                   const RunOptions& options, const MakeOutput* make, std::atomic<uint64_t>* mark,
                   std::span<const uint8_t> left) {
  require_not_forked();
  bool is_home = true;
  for (size_t i = 0; i < inputs.size(); ++i)
    is_home = is_home && is_at_home(inputs[i], program_->input_homes()[i]);
  for (size_t i = 0; i < outputs.size(); ++i)
    is_home = is_home && is_at_home(outputs[i], program_->output_homes()[i]);
  if (!is_home) [[unlikely]]
    return run_across(inputs, outputs, options, make, mark, left);
  const TraceSpan span(trace_, "run", "run");
  if (DeviceHealth::any_blocked()) [[unlikely]]
    devices_->require_good();
  const RunLimits limits(options);
  Lease lease(*this, limits);
  ExecutionContext& context = *lease;
  if (limits.can_stop()) context.limits = limits;
  std::copy(outputs.begin(), outputs.end(), context.bound_outputs.begin());
  context.make_output = make;
  context.left_outputs = left;
  context.has_made_left = false;
  if (mark) context.mark = mark;
  try {
    execute(context, inputs, outputs);
  } catch (...) {
    fail(context, inputs);
  }
  if (limits.can_stop()) context.limits = {};
  std::fill(context.bound_outputs.begin(), context.bound_outputs.end(), nullptr);
}

void Executor::execute(ExecutionContext& context, std::span<const ValueRef> inputs,
                       std::span<ValueRef> outputs) {
  Frame& frame = context.main();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const uint32_t slot = program_->inputs()[i];
    if (inputs[i]->kind == GANTRY_KIND_TENSOR && inputs[i]->dtype != DType::kString) {
      frame.set_view(slot, *inputs[i]);
    } else {
      frame.set_ref(slot, inputs[i]);
    }
    frame.slot(slot).is_resident = inputs[i]->home != nullptr;
  }
  write_signature(context, inputs, outputs, context.signature);
  if (!context.plan || frame.has_diverged() || context.plan->signature != context.signature) {
    const TraceSpan span(trace_, "run", "find the memory plan");
    context.plan = find_plan(context.signature);
    if (context.plan) context.trim();
    frame.bind(context.plan.get());
  }
  const bool captures = context.plan && options_.capture && program_->has_stretches();
  frame.use(captures ? &context.captures().of(context.plan) : nullptr);
  context.team().execute([&] {
    if (context.plan) {
      run_planned(context);
    } else {
      run_recorded(context);
    }
  });
  context.synchronize();
  for (size_t i = 0; i < context.left_outputs.size(); ++i) {
    if (context.left_outputs[i] != 0) outputs[i] = context.bound_outputs[i];
  }
  collect_outputs(context, outputs);
  frame.reset();
}

// In a catch block: brings the context to rest and throws what the run ends
// with.
void Executor::fail(ExecutionContext& context, std::span<const ValueRef> inputs) {
  const std::optional<Error> late = context.quiesce();
  if (context.is_abandoned()) {
    context.kept_inputs.assign(inputs.begin(), inputs.end());
  } else {
    context.limits = {};
    Frame& frame = context.main();
    frame.use(nullptr);
    frame.record(nullptr);
    frame.reset();
    frame.bind(nullptr);
    context.captures().clear();
    context.plan.reset();
    std::fill(context.bound_outputs.begin(), context.bound_outputs.end(), nullptr);
  }
  try {
    throw;
  } catch (const Error& error) {
    const bool was_stopped =
        error.code() == Code::kCancelled || error.code() == Code::kDeadlineExceeded;
    if (context.is_abandoned()) {
      throw Error(error.code(),
                  error.message() + ", and a device of it did not come to rest within " +
                      std::to_string(options_.stop_grace_ms) + " ms and will not be used any more");
    }
    // What failed on a device is the cause of what went wrong after it.
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
    if (outputs[i] && outputs[i]->home) {
      add_address(i, outputs[i]->view.data);
    } else if (context.leaves(static_cast<uint32_t>(i))) {
      add_address(i, nullptr);  // made by the run, and by none of a plan that goes to the host
    }
  }
  signature.push_back(-1);  // behind the outputs
  for (size_t i = 0; i < inputs.size(); ++i) {
    const gantry_value& value = *inputs[i];
    signature.push_back(static_cast<int64_t>(value.kind) << 32 | static_cast<int64_t>(value.dtype));
    signature.push_back(static_cast<int64_t>(value.shape.size()));
    signature.insert(signature.end(), value.shape.begin(), value.shape.end());
    if (value.home) add_address(i, value.view.data);
    if (!program_->signature_inputs()[i] || !value.view.data) continue;
    // A value that decides shapes is small; of a large one the first bytes tell most cases apart,
    // the rest diverges.
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
  // Where it was made is not in the signature of this run; the next one brings it along.
  if (context.has_made_left) return;
  std::shared_ptr<const MemoryPlan> plan = frame.make_plan(recorder, context.signature);
  const std::lock_guard lock(mutex_);
  plans_.push_front(std::move(plan));
  if (plans_.size() > kMostPlans) plans_.pop_back();
}

std::shared_ptr<const MemoryPlan> Executor::find_plan(const Signature& signature) {
  const std::lock_guard lock(mutex_);
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
    // A kernel may hand over a value of its own although memory was bound.
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
    for (uint32_t body = 0; body < steps[i].bodies.size(); ++body)
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
  const std::lock_guard lock(mutex_);
  for (const auto& context : contexts_) {
    if (!context) continue;
    for_each_call(context->main(), [&](const Step& step, const StepCall& call) {
      times[rows[&step]].runs += call.runs;
      times[rows[&step]].total_ns += call.total_ns;
    });
  }
  std::stable_sort(times.begin(), times.end(),
                   [](const NodeTime& a, const NodeTime& b) { return a.total_ns > b.total_ns; });
  return times;
}

void Executor::reset_profile() {
  const std::lock_guard lock(mutex_);
  for (const auto& context : contexts_) {
    if (!context) continue;
    for_each_call(context->main(), [](const Step&, StepCall& call) {
      call.total_ns = 0;
      call.runs = 0;
    });
  }
}

MemoryUse Executor::memory() const {
  MemoryUse use;
  use.weights = program_->constant_bytes();
  const std::lock_guard lock(mutex_);
  for (const auto& context : contexts_) {
    if (!context) continue;
    const MemoryUse part = context->memory();
    use.arena += part.arena;
    use.pool += part.pool;
  }
  return use;
}

}  // namespace gantry
