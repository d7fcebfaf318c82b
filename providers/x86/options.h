// SPDX-License-Identifier: Apache-2.0
// The provider's session options. x86.json has their schema, docs/configuration.md explains them.
// Immutable.
#pragma once

#include <gantry/provider.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::x86 {

struct Options {
  /// Use of Winograd's minimal filtering, F(m x m, 3 x 3), for the convolutions that it fits.
  enum class Winograd : uint8_t {
    kAuto,  ///< where the cost model or a measurement says that it is faster
    kOff,   ///< never
    k2,     ///< always, F(2 x 2, 3 x 3)
    k4      ///< always, F(4 x 4, 3 x 3)
  } winograd = Winograd::kAuto;

  /// Matmuls and convolutions that gain by it (fuse/bf16.h) round their operands to bf16 and
  /// accumulate in f32.
  bool is_bf16 = false;

  /// Names of implementations that make no kernel (fuse/implementation.h).
  std::vector<std::string> skipped;
  [[nodiscard]] bool skips(std::string_view implementation) const;

  Options() = default;
  /// Parses JSON; empty text: the defaults. Requires JSON that is valid by the manifest's schema.
  explicit Options(gantry_str text);
};

}  // namespace gantry::x86
