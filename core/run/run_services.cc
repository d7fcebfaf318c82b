// SPDX-License-Identifier: Apache-2.0
#include "run/run_services.h"

#include <array>
#include <atomic>
#include <exception>

#include "base/thread_pool.h"
#include "plugin/error.h"
#include "plugin/host.h"
#include "run/frame.h"
#include "run/run_resources.h"

namespace gantry {
namespace {

const Step& step_of(const gantry_run* run) {
  return run->frame->program().steps()[run->call->step];
}

uint32_t output_slot(const gantry_run* run, uint32_t index) {
  const Step& step = step_of(run);
  if (index >= step.outputs.size() || step.outputs[index] == kNoSlot) {
    throw Error(Code::kInvalidArgument, step.label + ": provider \"" + step.provider +
                                            "\" named output slot " + std::to_string(index) +
                                            ", which is not there");
  }
  return step.outputs[index];
}

// A body of parallel_for that keeps what a part throws, since an exception can go neither through
// the pool nor through a provider in C; with `trace`, each part is a record.
struct WatchedBody {
  Trace* trace;  // null: none
  const Step* step;
  int64_t count;
  void (*body)(void*, int64_t, int64_t);
  void* arg;
  std::atomic<bool> has_thrown = false;
  std::exception_ptr thrown = {};  // written by the thread that set has_thrown

  static void run_part(void* self, int64_t begin, int64_t end) noexcept {
    WatchedBody& watched = *static_cast<WatchedBody*>(self);
    const uint64_t start_ns = watched.trace ? Trace::now() : 0;
    try {
      watched.body(watched.arg, begin, end);
    } catch (...) {
      if (!watched.has_thrown.exchange(true)) watched.thrown = std::current_exception();
    }
    if (!watched.trace) [[likely]]
      return;
    if (end - begin == watched.count) return;  // a single part: the step's own record covers it
    const std::array<int64_t, 2> range = {begin, end};
    watched.trace->add(TraceKind::kPart, watched.step, 0, start_ns, Trace::now(), range);
  }
};

}  // namespace

gantry_error* RunServices::output(gantry_run* run, uint32_t index, uint32_t dtype, uint32_t rank,
                                  const int64_t* shape, gantry_tensor** out_tensor) {
  return guard([&] {
    *out_tensor = run->frame->request(*run->call, index, static_cast<DType>(dtype), rank, shape);
  });
}

gantry_error* RunServices::output_value(gantry_run* run, uint32_t index,
                                        const gantry_value* value) {
  return guard([&] {
    const uint32_t slot = output_slot(run, index);
    const SlotInfo& info = run->frame->program().slots()[slot];
    if (info.space != 0) {
      throw Error(Code::kInvalidArgument, step_of(run).label + ": output \"" + info.name +
                                              "\" lives on a device and cannot be a value");
    }
    if (info.format) {
      throw Error(Code::kInvalidArgument, step_of(run).label + ": output \"" + info.name +
                                              "\" was granted a format and cannot be a value");
    }
    const auto kind = static_cast<Kind>(value->kind);
    if (info.type->kind != Kind::kUnknown && info.type->kind != kind) {
      throw Error(Code::kInvalidArgument, step_of(run).label + ": output \"" + info.name +
                                              "\" was given a " + std::string(to_string(kind)) +
                                              ", the model says " +
                                              std::string(to_string(info.type->kind)));
    }
    const bool differs = kind == Kind::kTensor && info.type->dtype != DType::kUndefined &&
                         info.type->dtype != value->dtype;
    const bool has_other_rank = kind == Kind::kTensor && info.type->has_rank &&
                                !info.type->is_declared_only &&
                                info.type->shape.size() != value->shape.size();
    if (info.type->kind == Kind::kTensor && (differs || has_other_rank)) {
      throw Error(Code::kInvalidArgument, step_of(run).label + ": output \"" + info.name +
                                              "\" was given " + describe(*value) +
                                              ", the model says " +
                                              describe(info.type->dtype, info.type->shape));
    }
    run->frame->set_ref(slot, share(*value));
  });
}

gantry_error* RunServices::output_shrink(gantry_run* run, uint32_t index, const int64_t* shape,
                                         gantry_event* event) {
  return guard([&] {
    const uint32_t slot = output_slot(run, index);
    const Step& step = step_of(run);
    if (event) run->frame->resources().wait(step.space, event, step.label);
    run->frame->shrink(slot, shape);
  });
}

gantry_error* RunServices::scratch(gantry_run* run, uint64_t size_bytes, void** out_memory) {
  return guard([&] {
    *out_memory = run->frame->request_scratch(*run->call, step_of(run).space, size_bytes);
  });
}

gantry_error* RunServices::scratch_host(gantry_run* run, uint64_t size_bytes, void** out_memory) {
  return guard([&] { *out_memory = run->frame->request_scratch(*run->call, 0, size_bytes); });
}

void RunServices::parallel_for(gantry_run* run, int64_t count, int64_t grain,
                               void (*body)(void*, int64_t, int64_t), void* arg) {
  Trace* const trace = run->frame->resources().trace();
  const bool is_traced = trace && trace->keeps_records();
  WatchedBody watched{is_traced ? trace : nullptr, &step_of(run), count, body, arg};
  run->frame->resources().team().parallel_for(count, grain, WatchedBody::run_part, &watched);
  if (watched.has_thrown) [[unlikely]]
    run->call->thrown = watched.thrown;
}

const gantry_tensor* bound_output(gantry_run* run, uint32_t index) {
  return run->frame->bound_output(*run->call, index);
}

uint32_t RunServices::thread_count(gantry_run* run) {
  return run->frame->resources().team().size();
}

uint32_t RunServices::should_stop(gantry_run* run) {
  return static_cast<uint32_t>(run->frame->resources().stop_code());
}

void RunServices::trace_begin(gantry_run* run, gantry_str name) {
  if (Trace* trace = run->frame->resources().trace()) trace->open(to_view(name));
}

void RunServices::trace_end(gantry_run* run) {
  if (Trace* trace = run->frame->resources().trace()) trace->close();
}

}  // namespace gantry
