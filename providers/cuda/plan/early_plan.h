// SPDX-License-Identifier: Apache-2.0
// Plans a claim at model load, for inputs of static shape, so that its kernels are compiled in the
// background while the rest of the model is loaded. Pure functions.
#pragma once

#include <gantry/provider.h>

#include <vector>

#include "plan/operation.h"

namespace gantry::cuda {

/// Properties of the device that a plan depends on.
struct EarlyDevice {
  int multiprocessors = 1;
  bool has_blas = false;  ///< cuBLASLt is expected to take matmuls
  bool has_dnn = false;   ///< cuDNN is expected to take convolutions
};

/// Kernels that the first run of a claim is expected to launch. Empty if a shape, or a value in
/// host memory, is not static, or if planning fails; the run then reports the failure. A run may
/// need other kernels, for example if a library refuses a shape.
std::vector<const Program*> expected_programs(const gantry_host* host, const gantry_compile& args,
                                              const PlannedKernel& kernel, Programs& programs,
                                              const EarlyDevice& device);

}  // namespace gantry::cuda
