// SPDX-License-Identifier: Apache-2.0
// Constant int8 weights in tiles. Equal ones are held once in the process.
#pragma once

#include <gantry/sdk/blob.h>
#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <memory>

#include "int8/amx.h"

namespace gantry::x86 {

/// Weights as the model has them, in steps of elements: those of a product are a convolution's of
/// one tap.
struct PlainTileWeights {
  const void* numbers = nullptr;
  int64_t results = 0;
  int64_t result_step = 0;
  int64_t channel_step = 0;
  int64_t tap_step = 0;
  /// 0 or 128: added to each byte, modulo 256, so that it is a signed number
  uint8_t offset = 0;
};

class TileWeights {
 public:
  /// Packs them on all cores; `plain` need not outlive the call. The digest is kept in `choices`.
  /// Errors: OUT_OF_MEMORY.
  void pack(const gantry_host* host, sdk::Choices& choices, const PlainTileWeights& plain,
            const TileOrder& order);
  [[nodiscard]] const int8_t* numbers() const { return static_cast<const int8_t*>(share_.get()); }

 private:
  std::shared_ptr<const void> share_;
};

}  // namespace gantry::x86
