// SPDX-License-Identifier: Apache-2.0
// The host table: what gantry offers to every provider of the process. One static table; the slots
// that need an execution are filled by schedule/, which this folder may not see, through
// install_run_services. Any thread.
#pragma once

#include <gantry/provider.h>

#include <cstdint>

namespace gantry {

/// The slots of gantry_host that schedule/ implements.
struct RunServices {
  decltype(gantry_host::fragment_model) fragment_model = nullptr;
  decltype(gantry_host::fragment_weight) fragment_weight = nullptr;
  decltype(gantry_host::output) output = nullptr;
  decltype(gantry_host::output_value) output_value = nullptr;
  decltype(gantry_host::output_shrink) output_shrink = nullptr;
  decltype(gantry_host::scratch) scratch = nullptr;
  decltype(gantry_host::scratch_host) scratch_host = nullptr;
  decltype(gantry_host::parallel_for) parallel_for = nullptr;
  decltype(gantry_host::thread_count) thread_count = nullptr;
  decltype(gantry_host::should_stop) should_stop = nullptr;
  decltype(gantry_host::trace_begin) trace_begin = nullptr;
  decltype(gantry_host::trace_end) trace_end = nullptr;
  /// Not a provider's to ask: see bound_output().
  const gantry_tensor* (*bound_output)(gantry_run* run, uint32_t index) = nullptr;
};

/// Fills the run slots; a null member leaves its slot as it is. Call it before the first provider
/// is opened.
void install_run_services(const RunServices& services);

/// The table handed to providers; valid as long as the process.
const gantry_host& host_table();

/// The tensor that the caller of a run has given for an output of a step; null: none. For kernels
/// of the core, which may want to fill it before the shape of the result is known.
const gantry_tensor* bound_output(gantry_run* run, uint32_t index);

/// Bytes that providers hold through gantry_host.allocate and packed_acquire now.
uint64_t provider_bytes();

}  // namespace gantry
