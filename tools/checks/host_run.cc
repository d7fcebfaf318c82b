// SPDX-License-Identifier: Apache-2.0
#include "host_run.h"

#include <algorithm>

namespace gantry::checks {
namespace {

HostRun& of(gantry_run* run) { return *reinterpret_cast<HostRun*>(run); }

// Allocates memory of the run's device, or of the host.
gantry_error* reserve(HostRun& run, bool is_host, uint64_t size_bytes, void** out_memory) {
  if (is_host || !run.device) {
    run.host_blocks.push_back(run.has_own_pages ? run.add_pages(size_bytes)
                                                : aligned_memory(size_bytes));
    *out_memory = run.host_blocks.back().get();
    return nullptr;
  }
  // An empty tensor has an address too.
  if (gantry_error* error =
          run.api->memory_allocate(run.device, std::max<uint64_t>(size_bytes, 1), out_memory))
    return error;
  run.device_blocks.push_back(*out_memory);
  return nullptr;
}

gantry_error* output(gantry_run* opaque, uint32_t index, uint32_t dtype, uint32_t rank,
                     const int64_t* shape, gantry_tensor** out_tensor) {
  HostRun& run = of(opaque);
  if (index >= run.outputs.size() || run.outputs[index].is_asked) {
    return make_error(GANTRY_INVALID_ARGUMENT,
                      "output slot " + std::to_string(index) + " is not there or was asked for");
  }
  if (run.refuses_outputs) return make_error(GANTRY_OUT_OF_MEMORY, "output: refused by the test");
  HostRun::Output& slot = run.outputs[index];
  slot.shape.assign(shape, shape + rank);
  if (std::any_of(slot.shape.begin(), slot.shape.end(), [](int64_t extent) { return extent < 0; }))
    return make_error(GANTRY_INVALID_ARGUMENT, "output: an extent below 0");
  slot.dtype = dtype;
  slot.is_asked = true;
  const uint64_t size_bytes = bytes_of(dtype, slot.shape);
  const bool is_given = run.output_memory && !slot.is_host && size_bytes <= run.output_bytes;
  if (is_given) {
    slot.data = run.output_memory;
  } else if (gantry_error* error = reserve(run, slot.is_host, size_bytes, &slot.data)) {
    return error;
  }
  slot.tensor.size = sizeof(gantry_tensor);
  slot.tensor.dtype = dtype;
  slot.tensor.rank = rank;
  slot.tensor.device = slot.is_host || !run.device ? 0 : 1;
  slot.tensor.shape = slot.shape.data();
  slot.tensor.data = slot.data;
  slot.tensor.size_bytes = size_bytes;
  *out_tensor = &slot.tensor;
  return nullptr;
}

gantry_error* output_value(gantry_run*, uint32_t, const gantry_value*) {
  return make_error(GANTRY_UNSUPPORTED, "output_value: the test asks for tensors only");
}

gantry_error* output_shrink(gantry_run* opaque, uint32_t index, const int64_t* shape,
                            gantry_event*) {
  HostRun& run = of(opaque);
  if (index >= run.outputs.size() || !run.outputs[index].is_asked)
    return make_error(GANTRY_INVALID_ARGUMENT, "output_shrink: the output was not asked for");
  HostRun::Output& slot = run.outputs[index];
  for (size_t axis = 0; axis < slot.shape.size(); ++axis) {
    if (shape[axis] < 0 || shape[axis] > slot.shape[axis])
      return make_error(GANTRY_INVALID_ARGUMENT, "output_shrink: a larger extent than asked for");
    slot.shape[axis] = shape[axis];
  }
  slot.tensor.size_bytes = bytes_of(slot.dtype, slot.shape);
  return nullptr;
}

gantry_error* scratch_of(gantry_run* opaque, bool is_host, uint64_t size_bytes, void** out_memory) {
  if (of(opaque).refuses_scratch)
    return make_error(GANTRY_OUT_OF_MEMORY, "scratch: refused by the test");
  return reserve(of(opaque), is_host, size_bytes, out_memory);
}

void parallel_for(gantry_run*, int64_t count, int64_t grain,
                  void (*body)(void* arg, int64_t begin, int64_t end), void* arg) {
  const int64_t step = std::max<int64_t>(grain, 1);
  // In parts and backwards, since kernels must not depend on the order.
  for (int64_t part = (count + step - 1) / step; part-- > 0;)
    body(arg, part * step, std::min(count, (part + 1) * step));
}

}  // namespace

void add_run_services(gantry_host& table) {
  table.output = output;
  table.output_value = output_value;
  table.output_shrink = output_shrink;
  table.scratch = [](gantry_run* run, uint64_t size_bytes, void** out_memory) {
    return scratch_of(run, false, size_bytes, out_memory);
  };
  table.scratch_host = [](gantry_run* run, uint64_t size_bytes, void** out_memory) {
    return scratch_of(run, true, size_bytes, out_memory);
  };
  table.parallel_for = parallel_for;
  table.thread_count = [](gantry_run*) { return 1U; };
  table.should_stop = [](gantry_run* run) { return of(run).stop_code.load(); };
  table.trace_begin = [](gantry_run*, gantry_str) {};
  table.trace_end = [](gantry_run*) {};
}

}  // namespace gantry::checks
