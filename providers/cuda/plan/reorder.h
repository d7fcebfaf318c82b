// SPDX-License-Identifier: Apache-2.0
// Converts channels-last tensors to the dense layout. Any thread.
#pragma once

#include <gantry/provider.h>
#include <gantry/sdk/mutex.h>

#include <cstdint>
#include <list>
#include <vector>

#include "plan/plan.h"

namespace gantry::cuda {

class Reorders {
 public:
  /// Enqueues the copy on the stream. Both tensors have the same shape and are in device memory.
  /// DEVICE_ERROR, and what compiling a kernel throws.
  void run(Stream& stream, const gantry_tensor& source, const gantry_tensor& target);

 private:
  struct Known {
    std::vector<int64_t> key;
    Plan plan;
  };

  sdk::Mutex mutex_;
  std::list<Known> known_ GANTRY_GUARDED_BY(mutex_);  // most recently used first
};

/// Fills the entry of the provider's function table for reordering channels-last tensors.
void fill_reorder_slot(gantry_provider_api& api);

}  // namespace gantry::cuda
