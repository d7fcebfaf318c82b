// SPDX-License-Identifier: Apache-2.0
// The provider's options (cuda.json, docs/cuda.md). Immutable.
#pragma once

#include <gantry/provider.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gantry::cuda {

struct Options {
  std::vector<std::string> libraries;  ///< folders searched first for NVIDIA's libraries
  uint64_t pool_bytes = 0;             ///< memory limit of each device; 0: none
  bool capture = true;
  bool overlap = false;      ///< programmatic dependent launch
  bool tf32 = false;         ///< f32 operands may be rounded to TF32
  bool own_kernels = false;  ///< do not use cuBLASLt and cuDNN
  std::string cache;         ///< folder of the disk cache; empty: caching is off

  Options() = default;
  /// Requires JSON that is valid by the manifest's schema.
  explicit Options(gantry_str text);
};

}  // namespace gantry::cuda
