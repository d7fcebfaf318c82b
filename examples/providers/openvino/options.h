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
  std::string cache_dir;  ///< empty: nothing is kept

  /// These options with those that a JSON object names in place of its own. Requires that the
  /// object is valid by the manifest's schema, as the host sees to.
  [[nodiscard]] Options with(std::string_view json) const;
};

}  // namespace gantry_openvino
