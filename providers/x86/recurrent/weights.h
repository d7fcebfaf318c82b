// SPDX-License-Identifier: Apache-2.0
// Packs recurrent weights for recurrent/code.h. Equal packed weights share memory within the
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
  /// Packs the gates of a step of `kind`. `plain`: f32 [directions, all gates * hidden, hidden], of
  /// any alignment, not kept. The digest is cached in `choices`. Errors: OUT_OF_MEMORY.
  void pack(const gantry_host* host, sdk::Choices& choices, CellKind kind, int64_t directions,
            int64_t hidden, const void* plain);
  /// RecurrentStep::weights of a direction.
  [[nodiscard]] const float* of_direction(int64_t direction) const {
    return static_cast<const float*>(share_.get()) + direction * elements_;
  }

 private:
  int64_t elements_ = 0;  // of a direction
  std::shared_ptr<const void> share_;
};

}  // namespace gantry::x86
