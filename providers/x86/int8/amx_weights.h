// SPDX-License-Identifier: Apache-2.0
// Packs constant int8 weights for AMX (TileConvolution::weights). Equal packed weights share memory
// within the process.
#pragma once

#include <gantry/sdk/blob.h>
#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <memory>

#include "int8/amx.h"

namespace gantry::x86 {

/// Weights as the model has them; steps are strides in elements. A matmul is a convolution of one
/// tap.
struct PlainTileWeights {
  const void* numbers = nullptr;
  int64_t results = 0;  ///< output channels
  int64_t result_step = 0;
  int64_t channel_step = 0;
  int64_t tap_step = 0;
  /// 0 or 128: added to each byte, modulo 256, it gives s8 with zero point 0
  uint8_t offset = 0;
};

class TileWeights {
 public:
  /// Packs on all cores; does not keep `plain`. The digest is cached in `choices`.
  /// Errors: OUT_OF_MEMORY.
  void pack(const gantry_host* host, sdk::Choices& choices, const PlainTileWeights& plain,
            const TileOrder& order);
  [[nodiscard]] const int8_t* numbers() const { return static_cast<const int8_t*>(share_.get()); }

 private:
  std::shared_ptr<const void> share_;
};

}  // namespace gantry::x86
