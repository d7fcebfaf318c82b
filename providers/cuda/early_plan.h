// SPDX-License-Identifier: Apache-2.0
// The plan of a claim before it runs, for inputs whose shapes the model says: by it kernels are
// compiled while the rest of the model is still loaded. Pure functions.
#pragma once

#include <gantry/provider.h>

#include <vector>

#include "operation.h"

namespace gantry::cuda {

/// Where plans are made for.
struct EarlyDevice {
  int multiprocessors = 1;
  bool has_blas = false;  ///< cuBLASLt is expected to take products
  bool has_dnn = false;   ///< cuDNN likewise convolutions
};

/// Kernels that the first run of a claim will launch, as far as can be told: none if extents, or
/// values in host memory, are not known before the run, or if there is no plan for them, which the
/// run says. Later plans may want others, as where a library refuses what it is expected to take.
std::vector<const Program*> foreseen_programs(const gantry_host* host, const gantry_compile& args,
                                              const PlannedKernel& kernel, Programs& programs,
                                              const EarlyDevice& device);

}  // namespace gantry::cuda
