// SPDX-License-Identifier: Apache-2.0
// Constant int8 weights in the panels that the convolutions of bytes read. Equal ones are held
// once in the process.
#pragma once

#include <gantry/sdk/blob.h>
#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <memory>

namespace gantry::x86 {

class VnniWeights {
 public:
  /// As the model has them: [results, channels, taps].
  struct Plain {
    const void* numbers = nullptr;
    int64_t results = 0;
    int64_t channels = 0;  ///< a multiple of kByteQuad
    int64_t taps = 0;
    /// 0 or 128: added to each byte, modulo 256, so that it is a signed number
    uint8_t offset = 0;
  };
  /// Packs them on all cores; `plain` need not outlive the call. The digest is kept in `choices`.
  /// Errors: OUT_OF_MEMORY.
  void pack(const gantry_host* host, sdk::Choices& choices, const Plain& plain);
  [[nodiscard]] const int8_t* numbers() const { return static_cast<const int8_t*>(share_.get()); }

 private:
  std::shared_ptr<const void> share_;
};

}  // namespace gantry::x86
