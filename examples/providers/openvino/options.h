// SPDX-License-Identifier: Apache-2.0
// The provider's options, as its manifest declares them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gantry_openvino {

struct Options {
  std::string library = OPENVINO_LIBRARY;
  uint32_t num_threads = 0;  ///< 0: as many as the session has
  std::string precision = "f32";
  bool narrow_int64 = false;
  uint32_t shapes = 8;
  std::string cache_dir;  ///< empty: no cache

  /// These options, overridden by the members of a JSON object. Requires that the object conforms
  /// to the manifest's schema, which the host checks.
  [[nodiscard]] Options with(std::string_view json) const;
};

}  // namespace gantry_openvino
