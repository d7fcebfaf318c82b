// SPDX-License-Identifier: Apache-2.0
// Converts channels-last tensors to the dense layout. Any thread.
#pragma once

#include <gantry/provider.h>
#include <gantry/sdk/mutex.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

#include "compile/programs.h"
#include "driver/stream.h"
#include "plan/plan.h"

namespace gantry::cuda {

class Reorders {
 public:
  /// Of one device: its loaded kernels, and where the sources of new ones are kept. Borrowed.
  Reorders(Programs& sources, LoadedPrograms& programs) : sources_(sources), programs_(programs) {}

  /// Enqueues the copy on the stream. Both tensors have the same shape and are in device memory.
  /// DEVICE_ERROR, and what compiling a kernel throws.
  void run(Stream& stream, const gantry_tensor& source, const gantry_tensor& target);

 private:
  struct Known {
    std::vector<int64_t> key;
    Plan plan;
  };

  void run_step(Stream& stream, Step& step, const std::byte* const (&data)[2]);

  Programs& sources_;
  LoadedPrograms& programs_;
  sdk::Mutex mutex_;
  std::list<Known> known_ GANTRY_GUARDED_BY(mutex_);  // most recently used first
};

}  // namespace gantry::cuda
