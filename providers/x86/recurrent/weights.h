// SPDX-License-Identifier: Apache-2.0
// Recurrent weights in the blocks that recurrent/code.h reads. Equal weights are held once in the
// process.
#pragma once

#include <gantry/sdk/blob.h>
#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <memory>

#include "recurrent/code.h"

namespace gantry::x86 {

class RecurrentWeights {
 public:
  /// The gates that a step of `kind` multiplies. `plain`: f32 [directions, all gates * hidden,
  /// hidden], at any byte, needed for the call alone. The digest is kept in `choices`. Errors:
  /// OUT_OF_MEMORY.
  void pack(const gantry_host* host, sdk::Choices& choices, CellKind kind, int64_t directions,
            int64_t hidden, const void* plain);
  /// As RecurrentStep::weights.
  [[nodiscard]] const float* of_direction(int64_t direction) const {
    return static_cast<const float*>(share_.get()) + direction * elements_;
  }

 private:
  int64_t elements_ = 0;  // of a direction
  std::shared_ptr<const void> share_;
};

}  // namespace gantry::x86
