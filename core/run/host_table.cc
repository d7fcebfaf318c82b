// SPDX-License-Identifier: Apache-2.0
// The host table: every slot is a constant initialiser.
#include "plugin/host.h"
#include "plugin/host_functions.h"
#include "program/fragment.h"
#include "run/run_services.h"

namespace gantry {
namespace {

constexpr gantry_host kTable = {
    .size = sizeof(gantry_host),
    .reserved = 0,
    .error_create = HostFunctions::error_create,
    .error_code = HostFunctions::error_code,
    .error_message = HostFunctions::error_message,
    .error_release = HostFunctions::error_release,
    .log = HostFunctions::write_log,
    .allocate = HostFunctions::allocate,
    .release = HostFunctions::release,
    .packed_acquire = HostFunctions::packed_acquire,
    .packed_release = HostFunctions::packed_release,
    .fragment_model = fragment_model,
    .fragment_weight = fragment_weight,
    .value_kind = HostFunctions::value_kind,
    .value_tensor = HostFunctions::value_tensor,
    .value_string = HostFunctions::value_string,
    .value_length = HostFunctions::value_length,
    .value_at = HostFunctions::value_at,
    .value_create_tensor = HostFunctions::value_create_tensor,
    .value_create = HostFunctions::value_create,
    .value_append = HostFunctions::value_append,
    .value_set_string = HostFunctions::value_set_string,
    .value_release = HostFunctions::value_release,
    .output = RunServices::output,
    .output_value = RunServices::output_value,
    .output_shrink = RunServices::output_shrink,
    .scratch = RunServices::scratch,
    .scratch_host = RunServices::scratch_host,
    .parallel_for = RunServices::parallel_for,
    .thread_count = RunServices::thread_count,
    .should_stop = RunServices::should_stop,
    .trace_begin = RunServices::trace_begin,
    .trace_end = RunServices::trace_end,
};

}  // namespace

const gantry_host& host_table() noexcept { return kTable; }

}  // namespace gantry
