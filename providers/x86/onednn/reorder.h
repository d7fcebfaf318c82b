// SPDX-License-Identifier: Apache-2.0
// From channels-last to the dense order.
#pragma once

#include <gantry/provider.h>

namespace gantry::x86 {

/// Copies a tensor of f32 that stands channels-last, [N, C, spatial...], into dense order, on the
/// threads of the run. Errors: UNSUPPORTED for another type.
void bring_to_dense(const gantry_host* host, gantry_run* run, const gantry_tensor& source,
                    gantry_tensor& target);

}  // namespace gantry::x86
