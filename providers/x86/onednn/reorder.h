// SPDX-License-Identifier: Apache-2.0
// Reorder from channels-last to dense order.
#pragma once

#include <gantry/provider.h>

namespace gantry::x86 {

/// Copies a channels-last f32 tensor, [N, C, spatial...], to dense order, on the threads of the
/// run. Errors: UNSUPPORTED for another dtype.
void bring_to_dense(const gantry_host* host, gantry_run* run, const gantry_tensor& source,
                    gantry_tensor& target);

}  // namespace gantry::x86
