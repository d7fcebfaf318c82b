// SPDX-License-Identifier: Apache-2.0
#include "plan/operation.h"

#include <gantry/sdk/bits.h>

#include <algorithm>
#include <array>
#include <limits>
#include <list>

#include "autotune/timing.h"
#include "compile/kernel_texts.h"
#include "plan/execution_device.h"

namespace gantry::cuda {
namespace {

// Alignment in bytes: of the core's scratch memory, and of the workspace that NVIDIA's libraries
// expect, which is that of the driver's allocations.
constexpr uint64_t kHostAlignment = 64;
constexpr uint64_t kScratchAlignment = 256;

// A plan with the addresses of a run. It belongs to one execution context, so one run uses it at a
// time.
struct BoundPlan {
  std::vector<int64_t> key;
  Plan plan;
  std::vector<void*> outputs;  // by index
  std::vector<void*> scratch;  // by index
};

class PlanContext final : public sdk::KernelContext {
 public:
  /// Buffer for the key of a run; a member, so that a known shape allocates nothing.
  std::vector<int64_t> key;

  /// The plan of `key`, or null.
  BoundPlan* find() {
    for (auto it = plans_.begin(); it != plans_.end(); ++it) {
      if (it->key != key) continue;
      plans_.splice(plans_.begin(), plans_, it);
      return &plans_.front();
    }
    return nullptr;
  }
  BoundPlan* add(Plan plan) {
    plans_.push_front({key, std::move(plan), {}, {}});
    BoundPlan& added = plans_.front();
    added.outputs.resize(added.plan.outputs.size());
    added.scratch.resize(added.plan.scratch_bytes.size());
    if (plans_.size() > kMostPlans) plans_.pop_back();
    return &added;
  }

 private:
  static constexpr size_t kMostPlans = 16;
  std::list<BoundPlan> plans_;  // most recently used first
};

void append_input(std::vector<int64_t>& key, const sdk::Call& call, int slot, bool is_host,
                  const Operation& operation) {
  if (!call.has_input(slot)) {
    key.push_back(-1);
    return;
  }
  const gantry_tensor& tensor = call.input(slot);
  key.push_back(tensor.dtype);
  key.push_back(tensor.rank);
  for (uint32_t axis = 0; axis < tensor.rank; ++axis) key.push_back(tensor.shape[axis]);
  if (is_host && tensor.size_bytes > 0) operation.add_host_input(tensor, slot, call, key);
}

Planner planner_of(const sdk::Call& call, const PlannedKernel& kernel, bool rounds_to_tf32,
                   ExecutionDevice& device) {
  std::vector<InputMetadata> inputs(static_cast<size_t>(call.input_count()));
  for (int slot = 0; slot < call.input_count(); ++slot) {
    if (!call.has_input(slot)) continue;
    const gantry_tensor& tensor = call.input(slot);
    InputMetadata& info = inputs[static_cast<size_t>(slot)];
    info.is_present = true;
    info.dtype = tensor.dtype;
    info.shape.assign(tensor.shape, tensor.shape + tensor.rank);
    if (kernel.is_host_input(slot)) info.host_data = tensor.data;
  }
  std::vector<uint8_t> wanted(static_cast<size_t>(call.output_count()));
  for (int slot = 0; slot < call.output_count(); ++slot)
    wanted[static_cast<size_t>(slot)] = call.wants(slot) ? 1 : 0;
  return {device.source_store(),
          std::move(inputs),
          std::move(wanted),
          device.info.multiprocessors,
          {[&device](const MatmulShape& shape) {
             Blas* const blas = device.blas();
             return blas && blas->supports(shape);
           },
           [&device](const ConvShape& shape, uint64_t& out_workspace_bytes) {
             Dnn* const dnn = device.dnn();
             return dnn && dnn->supports(shape, out_workspace_bytes);
           },
           [&device](uint64_t size_bytes) {
             return std::make_shared<CachedMemory>(device, size_bytes);
           },
           rounds_to_tf32}};
}

class Runner {
 public:
  Runner(sdk::Call& call, Stream& stream, BoundPlan& bound)
      : call_(call), stream_(stream), bound_(bound) {}

  void run() {
    ask_for_memory();
    for (Step& step : bound_.plan.steps) {
      if (step.fills >= 0 && bound_.plan.cached[static_cast<size_t>(step.fills)]->is_filled())
        continue;
      run_step(step);
    }
    mark_filled();
  }

 private:
  // Other streams read cached memory without waiting for this stream, so it must be complete before
  // it is marked as filled.
  void mark_filled() {
    const auto& cached = bound_.plan.cached;
    if (std::all_of(cached.begin(), cached.end(), [](const auto& one) { return one->is_filled(); }))
      return;
    stream_.synchronize();
    for (const auto& one : cached) one->set_filled();
  }

  void ask_for_memory() {
    for (size_t i = 0; i < bound_.outputs.size(); ++i) {
      const PlannedOutput& planned = bound_.plan.outputs[i];
      const sdk::Shape shape(planned.shape.data(), static_cast<int>(planned.shape.size()));
      const gantry_tensor& tensor =
          call_.output(static_cast<int>(planned.slot), planned.dtype, shape);
      bound_.outputs[i] = tensor.data;
      if (!planned.host_bytes.empty())
        std::memcpy(tensor.data, planned.host_bytes.data(), planned.host_bytes.size());
    }
    for (size_t i = 0; i < bound_.scratch.size(); ++i) {
      bound_.scratch[i] = as_aligned(call_.scratch<std::byte>(
          static_cast<int64_t>(bound_.plan.scratch_bytes[i] + kScratchAlignment - kHostAlignment)));
    }
  }

  static void* as_aligned(std::byte* memory) {
    const auto address = reinterpret_cast<uintptr_t>(memory);
    return memory +
           ((address + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment - address);
  }

  [[nodiscard]] void* address_of(const Buffer& buffer) const {
    void* memory = nullptr;
    switch (buffer.kind) {
      case Buffer::Kind::kInput:
        memory = call_.input(static_cast<int>(buffer.index)).data;
        break;
      case Buffer::Kind::kOutput:
        memory = bound_.outputs[buffer.index];
        break;
      case Buffer::Kind::kScratch:
        memory = bound_.scratch[buffer.index];
        break;
      case Buffer::Kind::kCached:
        memory = bound_.plan.cached[buffer.index]->memory();
        break;
    }
    return static_cast<std::byte*>(memory) + buffer.offset_bytes;
  }

  void run_step(Step& step) {
    const Device& device = stream_.device();
    switch (step.kind) {
      case Step::Kind::kLaunch:
        return launch(step);
      case Step::Kind::kFill:
        return device.require(
            device.driver.fill_8(reinterpret_cast<uintptr_t>(address_of(step.buffers[0])),
                                 step.value, step.size_bytes, stream_.handle()),
            "filling memory");
      case Step::Kind::kCopy: {
        const auto target = reinterpret_cast<uintptr_t>(address_of(step.buffers[0]));
        const auto source = reinterpret_cast<uintptr_t>(address_of(step.buffers[1]));
        if (target == source) return;  // the host granted that the output aliases the input
        return device.require(
            device.driver.copy_within(target, source, step.size_bytes, stream_.handle()),
            "copying on the device");
      }
      case Step::Kind::kCall: {
        std::array<void*, 16> addresses{};
        for (size_t i = 0; i < step.buffers.size(); ++i)
          addresses.at(i) = address_of(step.buffers[i]);
        return step.call(stream_, addresses.data());
      }
      case Step::Kind::kAutotune:
        if (step.chosen < 0) choose(step);
        for (Step& one : step.candidates[static_cast<size_t>(step.chosen)]) run_step(one);
        return;
    }
  }

  // Candidates are timed between two kernels of the provider, because that is where they run: the
  // gaps around them count, and own kernels may overlap with their neighbours.
  FunctionHandle idle_kernel() {
    ExecutionDevice& device = ExecutionDevice::of(stream_);
    const std::string source =
        "#define MOST_THREADS 32\n" + kernel_source({}, std::string(kernel_text("idle.cu")));
    return device.programs().get(device.source_store().get(source));
  }
  void launch_idle(FunctionHandle kernel) {
    int nothing = 0;
    stream_.launch(kernel, 1, 32, &nothing);
  }

  // Autotuning waits for the device. It happens in the first run of a plan; captures are made of
  // later ones.
  void choose(Step& step) {
    AutotuneCache& autotune_cache = ExecutionDevice::of(stream_).autotune_cache();
    step.chosen = autotune_cache.find(step.tuning_key, step.families,
                                      static_cast<int>(step.candidates.size()));
    if (step.chosen >= 0) return;
    step.chosen = 0;
    std::vector<float> times;
    const FunctionHandle neighbour = idle_kernel();
    for (std::vector<Step>& candidate : step.candidates) {
      times.push_back(time_of(stream_, [&] {
        launch_idle(neighbour);
        for (Step& one : candidate) run_step(one);
        launch_idle(neighbour);
        return 0;
      }));
    }
    step.chosen = static_cast<int>(std::min_element(times.begin(), times.end()) - times.begin());
    log_times(stream_.device(), step.tuning_key, times);
    autotune_cache.store(step.tuning_key, step.chosen);
  }

  void launch(Step& step) {
    if (!step.function) step.function = ExecutionDevice::of(stream_).programs().get(*step.program);
    for (const auto& [position, buffer] : step.addresses) {
      void* const address = address_of(buffer);
      std::memcpy(&step.parameters[position], &address, sizeof(address));
    }
    stream_.launch(step.function, step.blocks, step.threads, step.parameters.data());
  }

  sdk::Call& call_;
  Stream& stream_;
  BoundPlan& bound_;
};

}  // namespace

void Operation::add_host_input(const gantry_tensor& tensor, int, const sdk::Call&,
                               std::vector<int64_t>& key) const {
  const size_t words = (tensor.size_bytes + 7) / 8;
  key.push_back(static_cast<int64_t>(tensor.size_bytes));
  key.resize(key.size() + words);
  std::memcpy(&key[key.size() - words], tensor.data, tensor.size_bytes);
}

std::unique_ptr<sdk::KernelContext> PlannedKernel::make_context() const {
  return std::make_unique<PlanContext>();
}

void PlannedKernel::run(sdk::Call& call) const {
  Stream& stream = *reinterpret_cast<Stream*>(call.stream());
  stream.device().require_alive();
  const ContextScope inside(stream.device());
  auto& context = static_cast<PlanContext&>(*call.context());
  context.key.clear();
  for (int slot = 0; slot < call.input_count(); ++slot)
    append_input(context.key, call, slot, is_host_input(slot), *operation_);
  for (int slot = 0; slot < call.output_count(); ++slot)
    context.key.push_back(call.wants(slot) ? 1 : 0);
  BoundPlan* bound = context.find();
  if (!bound) {
    const sdk::Span span = call.span("plan");
    Planner planner = planner_of(call, *this, rounds_to_tf32_, ExecutionDevice::of(stream));
    operation_->plan(planner);
    bound = context.add(std::move(planner).finish());
    for_each_program(bound->plan.steps, [&](const Program& program) {
      ExecutionDevice::of(stream).programs().prefetch(program);
    });
  }
  Runner(call, stream, *bound).run();
}

}  // namespace gantry::cuda
