// SPDX-License-Identifier: Apache-2.0
// Packs constant int8 weights for VNNI (VnniConvolution::weights). Equal packed weights share
// memory within the process.
#pragma once

#include <gantry/sdk/blob.h>
#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <memory>

namespace gantry::x86 {

class VnniWeights {
 public:
  /// Weights as the model has them: [results, channels, taps].
  struct Plain {
    const void* numbers = nullptr;
    int64_t results = 0;
    int64_t channels = 0;  ///< a multiple of kByteQuad
    int64_t taps = 0;
    /// 0 or 128: added to each byte, modulo 256, it gives s8 with zero point 0
    uint8_t offset = 0;
  };
  /// Packs on all cores; does not keep `plain`. The digest is cached in `choices`.
  /// Errors: OUT_OF_MEMORY.
  void pack(const gantry_host* host, sdk::Choices& choices, const Plain& plain);
  [[nodiscard]] const int8_t* numbers() const { return static_cast<const int8_t*>(share_.get()); }

 private:
  std::shared_ptr<const void> share_;
};

}  // namespace gantry::x86
