// SPDX-License-Identifier: Apache-2.0
// Tensors that stand channels-last, brought into the dense order. Any thread.
#pragma once

#include <gantry/provider.h>

#include <cstdint>
#include <list>
#include <mutex>
#include <vector>

#include "plan.h"

namespace gantry::cuda {

class Reorders {
 public:
  /// Copies the elements on the stream; both tensors have one shape and are in device memory.
  /// DEVICE_ERROR, and what compiling a kernel throws.
  void run(Stream& stream, const gantry_tensor& source, const gantry_tensor& target);

 private:
  struct Known {
    std::vector<int64_t> key;
    Plan plan;
  };

  std::mutex mutex_;
  std::list<Known> known_;  // most recently used first
};

}  // namespace gantry::cuda
