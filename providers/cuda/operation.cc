// SPDX-License-Identifier: Apache-2.0
#include "operation.h"

#include <gantry/sdk/bits.h>

#include <algorithm>
#include <array>
#include <limits>
#include <list>

#include "stream.h"
#include "timing.h"

namespace gantry::cuda {
namespace {

// Bytes: of what the core gives, and of what NVIDIA's libraries have as workspace from others, the
// driver's own blocks.
constexpr uint64_t kHostAlignment = 64;
constexpr uint64_t kScratchAlignment = 256;

// A plan with what its runs fill in; it belongs to one context, so one run at a time.
struct BoundPlan {
  std::vector<int64_t> key;
  Plan plan;
  std::vector<void*> outputs;  // by number
  std::vector<void*> scratch;  // by number
};

class PlanContext final : public sdk::KernelContext {
 public:
  /// Where the key of a run is put together; kept so that a known shape allocates nothing.
  std::vector<int64_t> key;

  /// The plan of `key`; null: there is none.
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
                   Device& device) {
  std::vector<InputFacts> inputs(static_cast<size_t>(call.input_count()));
  for (int slot = 0; slot < call.input_count(); ++slot) {
    if (!call.has_input(slot)) continue;
    const gantry_tensor& tensor = call.input(slot);
    InputFacts& facts = inputs[static_cast<size_t>(slot)];
    facts.is_present = true;
    facts.dtype = tensor.dtype;
    facts.shape.assign(tensor.shape, tensor.shape + tensor.rank);
    if (kernel.is_host_input(slot)) facts.host_data = tensor.data;
  }
  std::vector<uint8_t> wanted(static_cast<size_t>(call.output_count()));
  for (int slot = 0; slot < call.output_count(); ++slot)
    wanted[static_cast<size_t>(slot)] = call.wants(slot) ? 1 : 0;
  return {
      device.source_store(),
      std::move(inputs),
      std::move(wanted),
      device.facts.multiprocessors,
      {[&device](const ProductShape& shape) {
         Blas* const blas = device.blas();
         return blas && blas->supports(shape);
       },
       [&device](const ConvShape& shape, uint64_t& out_workspace_bytes) {
         Dnn* const dnn = device.dnn();
         return dnn && dnn->supports(shape, out_workspace_bytes);
       },
       [&device](uint64_t size_bytes) { return std::make_shared<KeptMemory>(device, size_bytes); },
       rounds_to_tf32}};
}

class Runner {
 public:
  Runner(sdk::Call& call, Stream& stream, BoundPlan& bound)
      : call_(call), stream_(stream), bound_(bound) {}

  void run() {
    ask_for_memory();
    for (Step& step : bound_.plan.steps) {
      if (step.fills >= 0 && bound_.plan.kept[static_cast<size_t>(step.fills)]->is_filled())
        continue;
      run_step(step);
    }
    mark_filled();
  }

 private:
  // Other streams read it without waiting for this one, so it is there before they may.
  void mark_filled() {
    const auto& kept = bound_.plan.kept;
    if (std::all_of(kept.begin(), kept.end(), [](const auto& one) { return one->is_filled(); }))
      return;
    stream_.synchronize();
    for (const auto& one : kept) one->set_filled();
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
      case Buffer::Kind::kKept:
        memory = bound_.plan.kept[buffer.index]->memory();
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
        if (target == source) return;  // the host granted that the bytes stay where they are
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
      case Step::Kind::kChoice:
        if (step.chosen < 0) choose(step);
        for (Step& one : step.ways[static_cast<size_t>(step.chosen)]) run_step(one);
        return;
    }
  }

  // The first run of a plan waits for the device; captures are of later ones.
  void choose(Step& step) {
    Choices& choices = stream_.device().choices();
    step.chosen = choices.find(step.chosen_for, step.families, static_cast<int>(step.ways.size()));
    if (step.chosen >= 0) return;
    step.chosen = 0;
    std::vector<float> times;
    for (std::vector<Step>& way : step.ways) {
      times.push_back(time_of(stream_, [&] {
        for (Step& one : way) run_step(one);
        return 0;
      }));
    }
    step.chosen = static_cast<int>(std::min_element(times.begin(), times.end()) - times.begin());
    tell_times(stream_.device(), step.chosen_for, times);
    choices.keep(step.chosen_for, step.chosen);
  }

  void launch(Step& step) {
    Device& device = stream_.device();
    if (!step.function) step.function = device.programs().get(*step.program);
    for (const auto& [place, buffer] : step.addresses) {
      void* const address = address_of(buffer);
      std::memcpy(&step.parameters[place], &address, sizeof(address));
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
    Planner planner = planner_of(call, *this, rounds_to_tf32_, stream.device());
    operation_->plan(planner);
    bound = context.add(std::move(planner).finish());
    for_each_program(bound->plan.steps,
                     [&](const Program& program) { stream.device().programs().foresee(program); });
  }
  Runner(call, stream, *bound).run();
}

}  // namespace gantry::cuda
