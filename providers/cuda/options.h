// SPDX-License-Identifier: Apache-2.0
// The provider's options, as the schema in cuda.json describes them and docs/cuda.md explains them.
// Immutable.
#pragma once

#include <gantry/provider.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gantry::cuda {

struct Options {
  std::vector<std::string> libraries;  ///< folders to look for NVIDIA's libraries in first
  uint64_t pool_bytes = 0;             ///< most memory on each device; 0: what there is
  bool capture = true;
  bool overlap = true;       ///< kernels may begin before the one before has ended
  bool tf32 = false;         ///< products of f32 may round their factors to TF32
  bool own_kernels = false;  ///< none of NVIDIA's libraries of kernels are used
  std::string cache;         ///< folder of what was compiled; empty: nothing is kept

  Options() = default;
  /// Requires JSON that the manifest's schema holds for valid.
  explicit Options(gantry_str text);
};

}  // namespace gantry::cuda
