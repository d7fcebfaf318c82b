// SPDX-License-Identifier: Apache-2.0
// The provider's options of a session, as the schema in x86.json describes them and
// docs/configuration.md explains them. Immutable.
#pragma once

#include <gantry/provider.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::x86 {

struct Options {
  /// Convolutions that Winograd's minimal filtering can do.
  enum class Winograd : uint8_t {
    kAuto,  ///< where it measured faster
    kOff,
    k2,  ///< all of them, in tiles of 2 x 2 results
    k4   ///< all of them, in tiles of 4 x 4 results
  } winograd = Winograd::kAuto;

  /// Large products and convolutions multiply numbers that are rounded to bf16, and add in f32.
  bool is_bf16 = false;

  /// Names of implementations that make no kernel (fuse/implementation.h).
  std::vector<std::string> skipped;
  [[nodiscard]] bool skips(std::string_view implementation) const;

  Options() = default;
  /// Requires JSON that the manifest's schema holds for valid.
  explicit Options(gantry_str text);
};

}  // namespace gantry::x86
