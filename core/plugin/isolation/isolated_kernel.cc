// SPDX-License-Identifier: Apache-2.0
// A kernel in a worker process. Inputs are copied into shared memory unless they are there already,
// and outputs are made there. Large outputs stay in shared memory, small ones are copied out. A
// tensor that the caller bound to an output is filled in place if it is in shared memory.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

#include "base/alignment.h"
#include "base/elements.h"
#include "base/fork.h"
#include "base/value.h"
#include "plugin/error.h"
#include "plugin/host.h"
#include "plugin/isolation/graph_message.h"
#include "plugin/isolation/isolated_provider.h"
#include "plugin/isolation/shared_tensor.h"

namespace gantry {
namespace {

constexpr uint64_t kInlineInputBytes = 1024;   // largest input that goes in the message
constexpr uint64_t kCopiedBytes = 256 * 1024;  // largest output that is copied out
constexpr uint64_t kMostRunAnswerBytes = uint64_t{1} << 32;  // includes strings and sequences
constexpr uint64_t kFirstWindow = 1 << 20;
constexpr uint64_t kMostSpareWindows = 16;  // that many runs find room for outputs of unknown size

// How long the thread that requested a run spins for its end. For longer runs a wake-up costs less
// than a tenth of their time, and a spinning thread takes a core from a run that uses all cores.
constexpr std::chrono::microseconds kSpin{500};
constexpr std::chrono::microseconds kSpinOnLastCore{100};

std::chrono::microseconds spin_time_beside(uint32_t threads) {
  const bool is_free = threads > 0 && threads < std::thread::hardware_concurrency();
  return is_free ? kSpin : kSpinOnLastCore;
}

std::string label_of(const gantry_compile& args) {
  const gantry_node& node = *args.graph->nodes[args.nodes[0]];
  std::string label =
      std::string(to_view(node.op_type)) + " \"" + std::string(to_view(node.name)) + "\"";
  if (args.node_count > 1) label += " and " + std::to_string(args.node_count - 1) + " more nodes";
  return label;
}

// Copies with all threads of the run: one thread alone does not reach the memory bandwidth.
void copy(gantry_run* run, std::byte* target, const void* source, uint64_t size_bytes) {
  struct Copy {
    std::byte* target;
    const std::byte* source;
  } both = {target, static_cast<const std::byte*>(source)};
  constexpr int64_t kGrain = 256 * 1024;
  host_table().parallel_for(
      run, static_cast<int64_t>(size_bytes), kGrain,
      [](void* arg, int64_t begin, int64_t end) {
        const auto& part = *static_cast<const Copy*>(arg);
        std::memcpy(part.target + begin, part.source + begin, static_cast<size_t>(end - begin));
      },
      &both);
}

// The blocks of shared memory for the outputs of one run; output values share ownership.
struct Windows {
  SharedArena::Block first;
  SharedArena::Block spare;
};

class IsolatedKernel {
 public:
  IsolatedKernel(IsolatedProvider& provider, const gantry_compile& args)
      : provider_(provider),
        device_(args.device),
        options_(to_view(args.options)),
        label_(label_of(args)),
        spin_time_(spin_time_beside(args.threads)) {
    compile_.kernel = provider.next_kernel();
    compile_.threads = args.threads;
    compile_.nodes.assign(args.nodes, args.nodes + args.node_count);
    compile_.inputs.assign(args.inputs, args.inputs + args.input_count);
    compile_.outputs.assign(args.outputs, args.outputs + args.output_count);
    ConstantStore::Batch batch(provider.constants());
    write_graph(graph_, *args.graph, [&](const gantry_value& value) { return batch.place(value); });
    segments_ = batch.finish();
    build(provider.worker(stop_of_load()), stop_of_load());
  }

  ~IsolatedKernel() {
    // In a forked child the worker belongs to the parent.
    if (process_.is_elsewhere()) return;
    try {
      is_going_ = true;
      if (const BackgroundWork building = begun(); building.valid()) building.wait();
      const MutexLock lock(mutex_);
      if (!worker_.process || worker_.process->has_ended()) return;
      MessageWriter request;
      request.put(WorkerCall::kRelease);
      request.put(compile_.kernel);
      // A release is normally fast, so it needs no long timeout.
      WorkerProcess::Patience patience;
      patience.timeout_ms = provider_.settings().start_timeout_ms;
      provider_.call(worker_, "release of " + label_, request, {}, patience, [](MessageReader&) {});
    } catch (...) {  // if the worker has ended, the kernel is gone with it
    }
  }

  void run(const gantry_call& call) {
    const StopQuestion stop = [run = call.run] {
      return static_cast<Code>(host_table().should_stop(run));
    };
    const IsolatedProvider::Worker worker = provider_.worker(stop);
    const std::shared_ptr<const WorkerKernel> kernel = built_in(worker, stop);
    const WorkerKernel& slots = *kernel;
    auto windows = std::make_shared<Windows>();
    if (!slots.outputs.empty()) {
      windows->first = provider_.arena()->allocate(bytes_of_window(call, slots));
      windows->spare =
          provider_.arena()->allocate_spare(provider_.arena()->size_bytes() / kMostSpareWindows);
    }
    WorkerRun head;
    head.kernel = compile_.kernel;
    head.windows[0] = {windows->first.offset(), windows->first.size_bytes()};
    head.windows[1] = {windows->spare.offset(), windows->spare.size_bytes()};
    // The block begins with the stop flag and the mark; the inputs follow.
    SharedArena::Block inputs =
        provider_.arena()->allocate(kTensorAlignment + bytes_of_inputs(call, slots));
    auto* flag = new (inputs.data()) std::atomic<bool>(false);
    const auto* mark = new (inputs.data() + WorkerRun::kMark) std::atomic<uint64_t>(0);
    head.stop_flag = inputs.offset();
    MessageWriter request;
    request.put(WorkerCall::kRun);
    request.put(head);
    write_inputs(request, call, slots, inputs);
    write_targets(request, call, slots);
    std::vector<ValueRef> outputs;
    try {
      provider_.call(
          worker, "run of " + label_, request, {}, patience_of(call, *flag),
          [&](MessageReader& from) { outputs = read_outputs(call, slots, from, windows); });
    } catch (const Error& error) {
      // Adds the step that was running to the message.
      const uint64_t step = mark->load();
      if (!worker.process->has_ended() || step == 0 || step > slots.steps.size()) throw;
      throw Error(error.code(), error.message() + "; it was at " + slots.steps[step - 1]);
    }
    inputs.reset();
    for (size_t i = 0; i < outputs.size(); ++i) give_output(call, slots.outputs[i], *outputs[i]);
  }

 private:
  // The slots of the kernel in a worker, which compiles the kernel first if it does not have it. If
  // `stop` ends the wait, the compilation goes on.
  std::shared_ptr<const WorkerKernel> built_in(const IsolatedProvider::Worker& worker,
                                               const StopQuestion& stop) {
    for (;;) {
      BackgroundWork building;
      {
        const MutexLock lock(mutex_);
        if (worker_.number == worker.number) return slots_;
        if (is_over(building_)) {
          building_ = start_background_work([this, worker] {
            build(worker, [this] { return is_going_ ? Code::kCancelled : Code::kOk; });
          });
          building_number_ = worker.number;
        } else if (building_number_ > worker.number) {
          throw Error(Code::kProviderCrashed, "the process of provider \"" + provider_.name() +
                                                  "\" ended before the run of " + label_);
        }
        building = building_;
      }
      try {
        wait_for(building, stop,
                 "provider \"" + provider_.name() + "\": the compilation of " + label_);
      } catch (const Error&) {
        const MutexLock lock(mutex_);
        // A compilation that failed because an earlier worker ended says nothing about this worker.
        if (building_number_ == worker.number || !is_over(building)) throw;
      }
    }
  }

  void build(const IsolatedProvider::Worker& worker, const StopQuestion& stop) {
    MessageWriter head;
    head.put(WorkerCall::kCompile);
    compile_.write(head);
    WorkerKernel slots;
    provider_.ask(worker, "compilation of " + label_, std::move(head), device_, options_, graph_,
                  segments_, stop, [&](MessageReader& from) {
                    slots = WorkerKernel::read(from);
                    check(slots.inputs, compile_.inputs, "input");
                    check(slots.outputs, compile_.outputs, "output");
                  });
    const MutexLock lock(mutex_);
    slots_ = std::make_shared<const WorkerKernel>(std::move(slots));
    worker_ = worker;
  }

  BackgroundWork begun() {
    const MutexLock lock(mutex_);
    return building_;
  }

  // Checks that the slots exist and each is named at most once.
  static void check(const std::vector<uint32_t>& slots, const std::vector<uint32_t>& values,
                    const char* kind) {
    std::vector<bool> is_named(values.size());
    for (const uint32_t slot : slots) {
      const bool is_there = slot < values.size() && values[slot] != GANTRY_NONE;
      if (is_there && !is_named[slot]) {
        is_named[slot] = true;
        continue;
      }
      throw Error(Code::kInternal, "it names " + std::string(kind) + " slot " +
                                       std::to_string(slot) +
                                       (is_there ? " twice" : ", which is not there"));
    }
  }

  static bool is_copied(const gantry_tensor& tensor) {
    return tensor.size_bytes > kInlineInputBytes;
  }

  [[nodiscard]] uint64_t bytes_of_inputs(const gantry_call& call, const WorkerKernel& slots) const {
    uint64_t bytes = 0;
    for (const uint32_t slot : slots.inputs) {
      uint64_t offset = 0;
      if (!call.values[slot])
        throw Error(Code::kInternal, label_ + ": input slot " + std::to_string(slot) + " is empty");
      const gantry_tensor* tensor = call.inputs[slot];
      if (tensor && is_copied(*tensor) &&
          !provider_.arena()->find(tensor->data, tensor->size_bytes, offset))
        bytes += round_up(tensor->size_bytes, kTensorAlignment);
    }
    return bytes;
  }

  // Size of the window for outputs: as earlier runs needed, unless the caller has bound the
  // outputs.
  [[nodiscard]] uint64_t bytes_of_window(const gantry_call& call, const WorkerKernel& slots) const {
    uint64_t offset = 0;
    const bool has_all = std::all_of(slots.outputs.begin(), slots.outputs.end(),
                                     [&](uint32_t slot) { return target_of(call, slot, offset); });
    if (has_all) return kFirstWindow;
    return std::max(kFirstWindow, expected_bytes_.load(std::memory_order_relaxed));
  }

  void write_inputs(MessageWriter& to, const gantry_call& call, const WorkerKernel& slots,
                    const SharedArena::Block& block) const {
    uint64_t used = kTensorAlignment;
    const PlaceData place = [&](const gantry_tensor& tensor) -> DataPlace {
      uint64_t offset = 0;
      if (!is_copied(tensor)) return {};
      if (provider_.arena()->find(tensor.data, tensor.size_bytes, offset))
        return {DataPlace::kArena, offset};
      offset = block.offset() + used;
      copy(call.run, block.data() + used, tensor.data, tensor.size_bytes);
      used += round_up(tensor.size_bytes, kTensorAlignment);
      return {DataPlace::kArena, offset};
    };
    const PlaceData in_message = [](const gantry_tensor&) { return DataPlace{}; };
    to.put<uint64_t>(slots.inputs.size());
    for (const uint32_t slot : slots.inputs) {
      if (call.inputs[slot] && call.inputs[slot]->dtype != GANTRY_STRING) {
        write_tensor(to, *call.inputs[slot], place(*call.inputs[slot]));
      } else {
        write_value(to, *call.values[slot], in_message);
      }
    }
  }

  // Writes the caller's tensors that the worker fills instead of the window.
  void write_targets(MessageWriter& to, const gantry_call& call, const WorkerKernel& slots) const {
    for (const uint32_t slot : slots.outputs) {
      uint64_t offset = 0;
      const gantry_tensor* target = target_of(call, slot, offset);
      to.put<uint8_t>(target ? 1 : 0);
      if (target) write_tensor(to, *target, {DataPlace::kArena, offset});
    }
  }

  // The caller's tensor for an output; null: none, or not in shared memory.
  const gantry_tensor* target_of(const gantry_call& call, uint32_t slot, uint64_t& offset) const {
    const gantry_tensor* bound = bound_output(call.run, slot);
    const bool is_seen = bound && bound->dtype != GANTRY_STRING && is_copied(*bound) &&
                         provider_.arena()->find(bound->data, bound->size_bytes, offset);
    return is_seen ? bound : nullptr;
  }

  // Whether an output of the answer is in the caller's tensor.
  bool is_target(const gantry_call& call, const WorkerKernel& slots, const DataPlace& place,
                 uint64_t size_bytes) const {
    return std::any_of(slots.outputs.begin(), slots.outputs.end(), [&](uint32_t slot) {
      uint64_t offset = 0;
      const gantry_tensor* target = target_of(call, slot, offset);
      return target && place.where == DataPlace::kArena && place.offset == offset &&
             size_bytes == target->size_bytes;
    });
  }

  [[nodiscard]] WorkerProcess::Patience patience_of(const gantry_call& call,
                                                    std::atomic<bool>& flag) const {
    WorkerProcess::Patience patience;
    patience.timeout_ms = provider_.settings().run_timeout_ms;
    patience.most_answer_bytes = kMostRunAnswerBytes;
    patience.grace_ms = provider_.settings().stop_grace_ms;
    patience.stop_flag = &flag;
    patience.spin = spin_time_;
    patience.should_stop = [run = call.run] {
      return static_cast<Code>(host_table().should_stop(run));
    };
    return patience;
  }

  std::vector<ValueRef> read_outputs(const gantry_call& call, const WorkerKernel& slots,
                                     MessageReader& reader,
                                     const std::shared_ptr<Windows>& windows) {
    uint64_t used_first = 0;
    uint64_t used_spare = 0;
    const FindData find = [&](const DataPlace& place,
                              uint64_t size_bytes) -> std::shared_ptr<const void> {
      const auto look_in = [&](const SharedArena::Block& block, uint64_t& used) {
        if (place.where != DataPlace::kArena || !block.contains(place.offset, size_bytes))
          return false;
        used = std::max(used, place.offset + size_bytes - block.offset());
        return true;
      };
      if (!look_in(windows->first, used_first) && !look_in(windows->spare, used_spare) &&
          !is_target(call, slots, place, size_bytes)) {
        throw Error(Code::kInternal, "an output of " + std::to_string(size_bytes) +
                                         " bytes lies outside of the memory for it");
      }
      return {windows, provider_.arena()->memory().data() + place.offset};
    };
    const uint64_t count = reader.count(1);
    if (count != slots.outputs.size()) {
      throw Error(Code::kInternal, "expected " + std::to_string(slots.outputs.size()) +
                                       " outputs, found " + std::to_string(count));
    }
    std::vector<ValueRef> values;
    for (uint64_t i = 0; i < count; ++i) {
      const ValueRef& value = values.emplace_back(read_value(reader, find));
      if (value->kind != GANTRY_KIND_TENSOR || is_aligned(*value)) continue;
      throw Error(Code::kInternal, "the memory of output " + std::to_string(i) +
                                       " is not aligned for " + describe(*value));
    }
    // The first window of the next run has room for them, and for the guard pages between them.
    const uint64_t used = used_first + used_spare;
    const uint64_t wanted = used + (count + 2) * 2 * SharedArena::kPage;
    if (wanted > expected_bytes_.load(std::memory_order_relaxed))
      expected_bytes_.store(wanted, std::memory_order_relaxed);
    keep(windows->first, used_first);
    keep(windows->spare, used_spare);
    return values;
  }

  static void keep(SharedArena::Block& block, uint64_t size_bytes) {
    if (size_bytes == 0) {
      block.reset();
    } else {
      block.keep(block.offset(), size_bytes);
    }
  }

  static void give_output(const gantry_call& call, uint32_t slot, const gantry_value& value) {
    const bool is_plain = value.kind == GANTRY_KIND_TENSOR && value.dtype != DType::kString;
    const bool is_moved = value.view.size_bytes > kCopiedBytes && !may_hold_indices(value.dtype) &&
                          !bound_output(call.run, slot);
    if (!is_plain || is_moved) {
      throw_if(host_table().output_value(call.run, slot, &value));
      return;
    }
    gantry_tensor* made = nullptr;
    throw_if(host_table().output(call.run, slot, value.view.dtype, value.view.rank,
                                 value.view.shape, &made));
    if (made->data != value.view.data && value.view.size_bytes > 0) {
      copy(call.run, static_cast<std::byte*>(made->data), value.view.data, value.view.size_bytes);
    }
    if (value.dtype == DType::kBool) make_plain_bools(made->data, made->size_bytes);
  }

  ProcessBound process_;
  IsolatedProvider& provider_;
  uint32_t device_;
  std::string options_;
  std::string label_;
  std::chrono::microseconds spin_time_;
  WorkerCompile compile_;
  MessageWriter graph_;
  ConstantStore::Segments segments_;  // of the graph, to compile again in the next worker
  Mutex mutex_;
  IsolatedProvider::Worker worker_ GANTRY_GUARDED_BY(mutex_);  // that has compiled the kernel
  std::shared_ptr<const WorkerKernel> slots_ GANTRY_GUARDED_BY(mutex_);
  BackgroundWork building_ GANTRY_GUARDED_BY(mutex_);  // in the worker of `building_number_`
  uint64_t building_number_ GANTRY_GUARDED_BY(mutex_) = 0;
  std::atomic<uint64_t> expected_bytes_ = 0;
  std::atomic<bool> is_going_ = false;  // being destroyed: ends a compilation
};

}  // namespace

void compile_isolated(IsolatedProvider& provider, const gantry_compile& args, gantry_kernel& out) {
  auto kernel = std::make_unique<IsolatedKernel>(provider, args);
  out.self = kernel.release();
  out.flags = GANTRY_KERNEL_NO_CAPTURE;
  out.run = [](void* self, void*, const gantry_call* call) {
    return guard([&] { static_cast<IsolatedKernel*>(self)->run(*call); });
  };
  out.destroy = [](void* self) { delete static_cast<IsolatedKernel*>(self); };
}

}  // namespace gantry
