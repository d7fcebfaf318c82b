// SPDX-License-Identifier: Apache-2.0
#include "schedule/executor.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "plugin/registry.h"
#include "schedule/thread_pool.h"

namespace gantry {

// A context for the length of a run.
class Executor::Lease {
 public:
  explicit Lease(Executor& executor) : executor_(executor), context_(executor.acquire()) {}
  ~Lease() { executor_.release(context_); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ExecutionContext& operator*() { return *context_; }

 private:
  Executor& executor_;
  ExecutionContext* context_;
};

Executor::Executor(std::unique_ptr<const Program> program,
                   std::shared_ptr<const DeviceTable> devices, uint32_t threads, bool profile)
    : devices_(std::move(devices)),
      program_(std::move(program)),
      threads_(std::max(1U, threads)),
      profile_(profile),
      most_contexts_(std::max(2U, hardware_threads())) {}

Executor::~Executor() = default;

ExecutionContext* Executor::acquire() {
  {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return !free_.empty() || contexts_.size() < most_contexts_; });
    if (!free_.empty()) {
      ExecutionContext* context = free_.back();
      free_.pop_back();
      return context;
    }
    contexts_.push_back(nullptr);  // the place is taken while the context is made without the lock
  }
  std::unique_ptr<ExecutionContext> made;
  try {
    made = std::make_unique<ExecutionContext>(*program_, *devices_, threads_);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    contexts_.erase(std::find(contexts_.begin(), contexts_.end(), nullptr));
    freed_.notify_one();
    throw;
  }
  made->profile = profile_;
  const std::lock_guard lock(mutex_);
  free_.reserve(most_contexts_);
  const auto place = std::find(contexts_.begin(), contexts_.end(), nullptr);
  *place = std::move(made);
  return place->get();
}

void Executor::release(ExecutionContext* context) {
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(context);
  }
  freed_.notify_one();
}

void Executor::run(std::span<const ValueRef> inputs, std::span<ValueRef> outputs,
                   const RunOptions& options) {
  require_not_forked();
  Lease lease(*this);
  ExecutionContext& context = *lease;
  context.cancel = options.cancel;
  context.has_deadline = options.timeout_ns.has_value();
  if (context.has_deadline) {
    const uint64_t most =
        static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::hours(24 * 365)).count());
    context.deadline = std::chrono::steady_clock::now() +
                       std::chrono::nanoseconds(std::min(*options.timeout_ns, most));
  }
  std::copy(outputs.begin(), outputs.end(), context.bound_outputs.begin());
  Frame& frame = context.main();
  try {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const uint32_t slot = program_->inputs()[i];
      if (inputs[i]->kind == GANTRY_KIND_TENSOR && inputs[i]->dtype != DType::kString) {
        frame.set_view(slot, *inputs[i]);
      } else {
        frame.set_ref(slot, inputs[i]);
      }
    }
    write_signature(inputs, context.signature);
    if (!context.plan || frame.has_diverged() || context.plan->signature != context.signature) {
      context.plan = find_plan(context.signature);
      if (context.plan) context.trim();
      frame.bind(context.plan.get());
    }
    if (context.plan) {
      run_planned(context);
    } else {
      run_recorded(context);
    }
    context.synchronize();
    collect_outputs(context, outputs);
    frame.reset();
  } catch (...) {
    context.quiesce();
    frame.record(nullptr);
    frame.reset();
    frame.bind(nullptr);
    context.plan.reset();
    std::fill(context.bound_outputs.begin(), context.bound_outputs.end(), nullptr);
    throw;
  }
  std::fill(context.bound_outputs.begin(), context.bound_outputs.end(), nullptr);
}

void Executor::write_signature(std::span<const ValueRef> inputs, Signature& signature) const {
  signature.clear();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const gantry_value& value = *inputs[i];
    signature.push_back(static_cast<int64_t>(value.kind) << 32 | static_cast<int64_t>(value.dtype));
    signature.push_back(static_cast<int64_t>(value.shape.size()));
    signature.insert(signature.end(), value.shape.begin(), value.shape.end());
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
  Frame& frame = context.main();
  Recorder recorder;
  recorder.slots.resize(program_->slots().size());
  recorder.scratch.resize(program_->steps().size());
  frame.record(&recorder);
  frame.run();
  frame.record(nullptr);
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
    if (source.direct && slot.ref) {
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

std::vector<NodeTime> Executor::profile() const {
  std::map<uint32_t, NodeTime> times;
  const std::lock_guard lock(mutex_);
  for (const auto& context : contexts_) {
    if (!context) continue;
    for (const StepCall& call : context->main().calls()) {
      const Step& step = program_->steps()[call.step];
      NodeTime& time = times[call.step];
      time.node = step.node;
      time.op_type = step.op_type;
      time.provider = step.provider;
      time.device = step.device;
      time.runs += call.runs;
      time.total_ns += call.total_ns;
    }
  }
  std::vector<NodeTime> sorted;
  for (auto& [step, time] : times) sorted.push_back(std::move(time));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const NodeTime& a, const NodeTime& b) { return a.total_ns > b.total_ns; });
  return sorted;
}

void Executor::reset_profile() {
  const std::lock_guard lock(mutex_);
  for (const auto& context : contexts_) {
    if (!context) continue;
    for (StepCall& call : context->main().calls()) call.total_ns = call.runs = 0;
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
