// SPDX-License-Identifier: Apache-2.0
// The functions of the host table that a kernel may call while it runs: outputs, scratch memory,
// threads, cancellation, trace spans. gantry_host in provider.h documents each. Any thread.
#pragma once

#include <cstdint>

#include "base/value.h"

namespace gantry {

struct RunServices {
  static gantry_error* output(gantry_run* run, uint32_t index, uint32_t dtype, uint32_t rank,
                              const int64_t* shape, gantry_tensor** out_tensor);
  static gantry_error* output_value(gantry_run* run, uint32_t index, const gantry_value* value);
  static gantry_error* output_shrink(gantry_run* run, uint32_t index, const int64_t* shape,
                                     gantry_event* event);
  static gantry_error* scratch(gantry_run* run, uint64_t size_bytes, void** out_memory);
  static gantry_error* scratch_host(gantry_run* run, uint64_t size_bytes, void** out_memory);
  static void parallel_for(gantry_run* run, int64_t count, int64_t grain,
                           void (*body)(void* arg, int64_t begin, int64_t end), void* arg);
  static uint32_t thread_count(gantry_run* run);
  static uint32_t should_stop(gantry_run* run);
  static void trace_begin(gantry_run* run, gantry_str name);
  static void trace_end(gantry_run* run);
};

}  // namespace gantry
